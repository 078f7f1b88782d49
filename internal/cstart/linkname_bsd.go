//go:build (darwin || dragonfly || freebsd || illumos || netbsd || openbsd) && flock_linkname

package cstart

import "syscall"

// RestoreMask has nothing to do with most signals, because the runtime leaves them blocked (islibrary). It unblocks
// those of faults, SIGURG and a few more, and nothing here tells whether they were blocked before.
func RestoreMask() {}

func isBlocked(syscall.Signal) bool { return false } // nothing tells

// CatchAlarm only sets the default action, which a handler would become in the command: no signal ends a wait on these
// systems.
func CatchAlarm() { DefaultAction(syscall.SIGALRM) }
