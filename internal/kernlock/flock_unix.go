//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || solaris

package kernlock

import "golang.org/x/sys/unix"

const HasFlock = true

var flockOps = [...]int{Exclusive: unix.LOCK_EX, Shared: unix.LOCK_SH, Unlock: unix.LOCK_UN}

// Flock makes one call of flock(2).
func Flock(fd int, op Op, wait bool) error {
	how := flockOps[op]
	if !wait {
		how |= unix.LOCK_NB
	}
	return unix.Flock(fd, how)
}
