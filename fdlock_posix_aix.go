package main

import (
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
	lock := rangeLock(o)
	cmd := unix.F_SETLK
	if wait {
		cmd = unix.F_SETLKW
	}
	return unix.FcntlFlock(uintptr(f.fd), cmd, &lock)
}

func ofdSet(int, bool, *unix.Flock_t) error { return syscall.ENOSYS }
