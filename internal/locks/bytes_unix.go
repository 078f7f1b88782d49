//go:build darwin || illumos || linux

package locks

import (
	"io"

	"golang.org/x/sys/unix"
)

var byteLockTypes = [...]int16{Exclusive: unix.F_WRLCK, Shared: unix.F_RDLCK, Unlock: unix.F_UNLCK}

// bytesCall returns the call for an open file description lock of fcntl(2) on a range of bytes.
func bytesCall(r Range) call {
	return func(fd int, op Op, wait bool) error {
		lock := unix.Flock_t{Type: byteLockTypes[op], Whence: io.SeekStart, Start: r.Start, Len: r.Length}
		cmd := setLock
		if wait {
			cmd = setLockWait
		}
		return systemLockBytes(fd, cmd, &lock)
	}
}
