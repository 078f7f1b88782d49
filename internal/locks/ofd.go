//go:build illumos || linux

package locks

import "golang.org/x/sys/unix"

const (
	setLock     = unix.F_OFD_SETLK
	setLockWait = unix.F_OFD_SETLKW
)
