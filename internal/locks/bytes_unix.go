//go:build darwin || illumos || linux

package locks

import (
	"io"

	"golang.org/x/sys/unix"
)

// HasByteLocks says that the kernel has open file description locks of fcntl(2), and HasRanges that they can be of a
// range of bytes. An older Linux, or a filesystem, can still answer that it has none.
const (
	HasByteLocks = true
	HasRanges    = system != "illumos"
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
