//go:build ignore

package locks

import (
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// This is how illumos locks on a local filesystem. A lock of flock(2) is an open file description lock. These are of
// whole files only: for a range of bytes the answer is EINVAL. The C library, in which flock(2) is a function, refuses
// an unlock that is not to wait.
const system = "illumos"

var (
	systemFlock     = imitateIllumosFlock
	systemLockBytes = imitateIllumosBytes
)

func imitateIllumosFlock(fd, how int) error {
	if how == unix.LOCK_UN|unix.LOCK_NB {
		return syscall.EINVAL
	}
	return imitateIllumosLock(fd, how)
}

func imitateIllumosLock(fd, how int) error {
	return imitateFlock(fd, how, func(int) bool { return false })
}

func imitateIllumosBytes(fd, cmd int, lock *unix.Flock_t) error {
	if lock.Whence != io.SeekStart || lock.Start != 0 || lock.Len != 0 {
		return syscall.EINVAL
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	how := unix.LOCK_UN
	switch mode := flags & unix.O_ACCMODE; {
	case lock.Type == unix.F_RDLCK && mode == unix.O_WRONLY, lock.Type == unix.F_WRLCK && mode == unix.O_RDONLY:
		return syscall.EBADF
	case lock.Type == unix.F_RDLCK:
		how = unix.LOCK_SH
	case lock.Type == unix.F_WRLCK:
		how = unix.LOCK_EX
	}
	if cmd != unix.F_OFD_SETLKW {
		how |= unix.LOCK_NB
	}
	return imitateIllumosLock(fd, how)
}
