//go:build (darwin || dragonfly || freebsd || illumos || netbsd || openbsd || solaris) && flock_linkname

package cstart

import "syscall"

// No signal ends a wait on these systems.

// RestoreMask has nothing to do: the runtime leaves the mask alone (islibrary).
func RestoreMask() {}

func isBlocked(syscall.Signal) bool { return false } // nothing tells

// CatchAlarm only sets the default action, which a handler would become in the command.
func CatchAlarm() { DefaultAction(syscall.SIGALRM) }
