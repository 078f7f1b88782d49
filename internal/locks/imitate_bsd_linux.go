//go:build imitate_bsd

package locks

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// This is how the kernels of the BSDs lock: there is flock(2), and there are no open file description locks.
const system = "freebsd"

var (
	systemFlock     = imitateBSDFlock
	systemLockBytes = imitateBSDBytes
)

func imitateBSDFlock(fd, how int) error {
	return imitateFlock(fd, how, func(int) bool { return false })
}

func imitateBSDBytes(int, int, *unix.Flock_t) error { return syscall.ENOSYS }
