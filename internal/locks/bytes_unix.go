//go:build darwin || illumos || linux

package locks

import (
	"io"

	"golang.org/x/sys/unix"
)

var recordTypes = [...]int16{Exclusive: unix.F_WRLCK, Shared: unix.F_RDLCK, Unlock: unix.F_UNLCK}

// recordCall returns the call for an open file description lock of fcntl(2) on a range of bytes.
func recordCall(r Range) call {
	return func(fd int, op Op, wait bool) error {
		lock := unix.Flock_t{Type: recordTypes[op], Whence: io.SeekStart, Start: r.Start, Len: r.Length}
		cmd := setLock
		if wait {
			cmd = setLockWait
		}
		return systemLockBytes(fd, cmd, &lock)
	}
}
