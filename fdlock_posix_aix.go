package main

import (
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// ofdCall makes one call for a POSIX record lock on the byte range of o, which
// waits if wait is true: only if the user says so, because any close of the
// file by the process that has the lock ends it.
func ofdCall(f *lockFile, o *options, wait bool) error {
	if o.backend != byFcntl {
		return syscall.ENOSYS
	}
	lock := unix.Flock_t{Whence: io.SeekStart, Start: o.start, Len: o.length}
	switch o.op {
	case exclusive:
		lock.Type = unix.F_WRLCK
	case shared:
		lock.Type = unix.F_RDLCK
	case unlock:
		lock.Type = unix.F_UNLCK
	}
	cmd := unix.F_SETLK
	if wait {
		cmd = unix.F_SETLKW
	}
	return unix.FcntlFlock(uintptr(f.fd), cmd, &lock)
}

func ofdSet(int, bool, *unix.Flock_t) error { return syscall.ENOSYS }
