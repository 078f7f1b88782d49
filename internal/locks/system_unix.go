//go:build unix && !locks_portable

package locks

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// system is the one whose locks these are. The build tag locks_portable takes this file and the timer of Linux away,
// and a tag imitate_*, which gives another system's answers on Linux, brings what stands here: see
// compat_test/README.md.
const system = runtime.GOOS

func systemFlock(fd, how int) error { return unix.Flock(fd, how) }

func systemLockBytes(fd, cmd int, lock *unix.Flock_t) error {
	return unix.FcntlFlock(uintptr(fd), cmd, lock)
}
