//go:build unix

package locks

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// system is the one whose locks these are. An imitation of another system, on Linux, is laid in the place of this file:
// see compat_test/README.md.
const system = runtime.GOOS

func systemFlock(fd, how int) error { return unix.Flock(fd, how) }

func systemLockBytes(fd, cmd int, lock *unix.Flock_t) error {
	return unix.FcntlFlock(uintptr(fd), cmd, lock)
}
