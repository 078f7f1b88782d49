//go:build unix && !(aix || darwin || illumos || linux || solaris)

package main

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func ofdCall(*lockFile, *options, bool) error { return syscall.ENOSYS }

func ofdSet(int, bool, *unix.Flock_t) error { return syscall.ENOSYS }
