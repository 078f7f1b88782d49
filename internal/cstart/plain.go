//go:build unix && !flock_linkname

package cstart

import "syscall"

// The Go runtime as it is. It has a handler for every signal.

const IsLibrary = false

func Environ() []string { return trusted(syscall.Environ()) }

func DefaultAction(syscall.Signal) {}

func RestoreMask() {}

// CatchAlarm has nothing to do: the runtime handles SIGALRM.
func CatchAlarm() {}
