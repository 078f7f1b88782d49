//go:build unix && !flock_linkname

package cstart

import (
	"os/signal"
	"syscall"
)

// The Go runtime as it is. It has a handler for every signal.

const IsLibrary = false

func Environ() []string { return trusted(syscall.Environ()) }

func DefaultAction(syscall.Signal) {}

func RestoreMask() {}

// CatchAlarm has nothing to do: the runtime handles SIGALRM.
func CatchAlarm() {}

// Kills reports whether a signal would kill this process. A signal that is blocked counts as one that would: nothing tells.
func Kills(sig syscall.Signal) bool { return !signal.Ignored(sig) }
