//go:build ignore

package locks

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// This is how the kernel of macOS locks on a local filesystem. All locks of a file are in one list. A lock of flock(2)
// covers all bytes, and conflicts with the byte locks of everybody, those of the same open file, too: an open file has
// one identity for flock(2) and another for its byte locks.
const system = "darwin"

var (
	systemFlock     = imitateXNUFlock
	systemLockBytes = imitateXNUBytes
)

func imitateXNUFlock(fd, how int) error {
	return imitateFlock(fd, how, func(kind int) bool {
		all := unix.Flock_t{Type: unix.F_WRLCK}
		if kind == unix.LOCK_SH {
			all.Type = unix.F_RDLCK
		}
		other, err := imitateOpenAgain(fd)
		if err != nil {
			return false
		}
		defer other.Close()
		return unix.FcntlFlock(other.Fd(), unix.F_OFD_GETLK, &all) == nil && all.Type != unix.F_UNLCK
	})
}

func imitateXNUBytes(fd, cmd int, lock *unix.Flock_t) error {
	for {
		err := imitateAtomically(func() error {
			if lock.Type != unix.F_UNLCK && imitateKeepsBytesOut(fd, lock.Type) {
				return syscall.EAGAIN
			}
			return unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, lock)
		})
		if err != syscall.EAGAIN || cmd != unix.F_OFD_SETLKW {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// imitateKeepsBytesOut reports whether somebody has a lock of flock(2) that excludes a byte lock.
func imitateKeepsBytesOut(fd int, kind int16) bool {
	other, err := imitateOpenAgain(fd)
	if err != nil {
		return false
	}
	defer other.Close()
	how := unix.LOCK_EX
	if kind == unix.F_RDLCK {
		how = unix.LOCK_SH
	}
	return unix.Flock(int(other.Fd()), how|unix.LOCK_NB) == syscall.EAGAIN
}
