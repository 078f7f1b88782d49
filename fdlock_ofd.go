//go:build darwin || illumos || linux || solaris

package main

import "golang.org/x/sys/unix"

// ofdCall makes one call for an open file description lock on the byte range
// of o, which waits if wait is true.
func ofdCall(f *lockFile, o *options, wait bool) error {
	lock := rangeLock(o)
	return ofdSet(f.fd, wait, &lock)
}

func ofdSet(fd int, wait bool, lock *unix.Flock_t) error {
	cmd := ofdSetlk
	if wait {
		cmd = ofdSetlkw
	}
	return unix.FcntlFlock(uintptr(fd), cmd, lock)
}
