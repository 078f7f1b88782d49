//go:build unix && !flock_linkname

package cstart

import (
	"os"
	"os/signal"
	"syscall"
)

// The Go runtime as it is. It has a handler for every signal.

// IsLibrary says that the runtime calls main.main.
const IsLibrary = false

// Environ returns the environment, without duplicates.
func Environ() []string { return trusted(syscall.Environ()) }

// Setenv sets a variable in Environ.
func Setenv(name, value string) { os.Setenv(name, value) }

// Unsetenv removes a variable from Environ.
func Unsetenv(name string) { os.Unsetenv(name) }

// DefaultAction has nothing to do: exec replaces a handler.
func DefaultAction(syscall.Signal) {}

// RestoreMask leaves the mask as the runtime has made it.
func RestoreMask() {}

// CatchAlarm has nothing to do: the runtime handles SIGALRM.
func CatchAlarm() {}

// Ignored reports whether a signal is ignored.
func Ignored(sig syscall.Signal) bool { return signal.Ignored(sig) }

// Kills reports whether a signal would kill this process. A signal that is blocked counts as one that would: nothing
// tells.
func Kills(sig syscall.Signal) bool { return !signal.Ignored(sig) }
