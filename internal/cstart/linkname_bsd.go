//go:build (darwin || dragonfly || freebsd || illumos || netbsd || openbsd || solaris) && flock_linkname

package cstart

import "syscall"

// On these systems the runtime leaves the mask alone (islibrary), and no signal is used to end a wait.

func RestoreMask() {}

func Catch(syscall.Signal) {}
