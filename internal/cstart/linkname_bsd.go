//go:build (darwin || dragonfly || freebsd || illumos || netbsd || openbsd || solaris) && flock_linkname

package cstart

import "syscall"

// On these systems the runtime leaves the mask alone (islibrary), and no signal is used to end a wait.

func RestoreMask() {}

func isBlocked(syscall.Signal) bool { return false } // nothing tells

// CatchAlarm only sets the default action, which a handler would become in the command.
func CatchAlarm() { DefaultAction(syscall.SIGALRM) }
