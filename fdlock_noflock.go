//go:build unix && !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || solaris)

package main

import "syscall"

func flockCall(*lockFile, *options, bool) error { return syscall.ENOSYS }
