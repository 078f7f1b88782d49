//go:build unix && !(darwin || illumos || linux || solaris)

package main

import "syscall"

func ofdCall(*lockFile, *options, bool) error { return syscall.ENOSYS }
