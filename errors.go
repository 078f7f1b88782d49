package main

import (
	"errors"
)

// The exit statuses of our own, named as in sysexits.h.
const (
	exUsage       = 64
	exDataErr     = 65
	exNoInput     = 66
	exUnavailable = 69
	exOSErr       = 71
	exCantCreat   = 73
)

// The answers of a lock that are no errors.
var (
	errConflict = errors.New("somebody else holds the lock")
	errTimeout  = errors.New("somebody else still holds the lock")
	errNoLocks  = errors.New("there are no such locks here")

	errSupervise = errors.New("the directory lock needs a process of its own")
)

// usageError is a command line that means nothing.
type usageError struct {
	text string
	try  bool // point at --help
}

func (e *usageError) Error() string { return e.text }

// A step is what the program was doing when it failed.
type step uint8

const (
	opening step = iota
	locking
	executing
	forking
	waiting
	keeping    // a lock in a directory
	permitting // by number of a descriptor
	cooling
	seeing // who holds a lock
	timing
)

// stepError says what was done to what, and what went wrong.
type stepError struct {
	step   step
	object string
	err    error
}

func (e *stepError) Unwrap() error { return e.err }

func (e *stepError) Error() string {
	switch e.step {
	case opening:
		return "cannot open lock file " + e.object + ": " + reason(e.err)
	case executing:
		return "failed to execute " + e.object + ": " + reason(e.err)
	case forking:
		return "fork failed: " + reason(e.err)
	case waiting:
		return "waitpid failed: " + reason(e.err)
	case permitting:
		return e.object + ": --permits needs a descriptor that is open for writing"
	case timing:
		return "cannot set up timer: " + reason(e.err)
	case seeing:
		return "cannot tell who holds " + e.object + ": " + e.err.Error()
	case cooling:
		return "cannot set the cooldown of " + e.object + ": " + reason(e.err)
	case keeping:
		return e.object + ": " + e.err.Error()
	default:
		return e.object + ": " + reason(e.err)
	}
}

// exitStatus is the table from errors to exit statuses.
func exitStatus(err error) int {
	var at *stepError
	if !errors.As(err, &at) {
		return exOSErr
	}
	switch {
	case at.step == executing && !lacksMemory(err):
		return exUnavailable
	case lacksResources(err):
		return exOSErr
	case (at.step == opening || at.step == keeping) && cannotCreate(err):
		return exCantCreat
	case at.step == opening, at.step == keeping && lacksPermission(err):
		return exNoInput
	case at.step == locking, at.step == keeping, at.step == permitting:
		return exDataErr
	case at.step == waiting:
		return 1 // as the reference
	}
	return exOSErr
}
