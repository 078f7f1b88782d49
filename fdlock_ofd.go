//go:build darwin || illumos || linux || solaris

package main

import (
	"io"

	"golang.org/x/sys/unix"
)

// ofdCall makes one call for an open file description lock on the byte range
// of o, which waits if wait is true.
func ofdCall(f *lockFile, o *options, wait bool) error {
	lock := unix.Flock_t{Whence: io.SeekStart, Start: o.start, Len: o.length}
	switch o.op {
	case exclusive:
		lock.Type = unix.F_WRLCK
	case shared:
		lock.Type = unix.F_RDLCK
	case unlock:
		lock.Type = unix.F_UNLCK
	}
	return ofdSet(f.fd, wait, &lock)
}

func ofdSet(fd int, wait bool, lock *unix.Flock_t) error {
	cmd := ofdSetlk
	if wait {
		cmd = ofdSetlkw
	}
	return unix.FcntlFlock(uintptr(fd), cmd, lock)
}
