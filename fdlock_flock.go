//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || solaris

package main

import "golang.org/x/sys/unix"

// flockCall makes one flock(2) call, which waits if wait is true.
func flockCall(f *lockFile, o *options, wait bool) error {
	how := map[operation]int{exclusive: unix.LOCK_EX, shared: unix.LOCK_SH, unlock: unix.LOCK_UN}[o.op]
	if !wait {
		how |= unix.LOCK_NB
	}
	return unix.Flock(f.fd, how)
}
