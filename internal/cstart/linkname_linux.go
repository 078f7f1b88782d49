//go:build flock_linkname

package cstart

import "golang.org/x/sys/unix"

const setMask = unix.SIG_SETMASK
