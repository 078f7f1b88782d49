package main

import (
	"errors"
	"strings"
	"syscall"
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
	is := func(errnos ...syscall.Errno) bool {
		for _, e := range errnos {
			if errors.Is(err, e) {
				return true
			}
		}
		return false
	}
	switch {
	case is(syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ENOLCK):
		return exOSErr
	case at.step == opening && is(syscall.EROFS, syscall.ENOSPC):
		return exCantCreat
	case at.step == opening:
		return exNoInput
	case at.step == locking:
		return exDataErr
	case at.step == executing:
		return exUnavailable
	}
	return exOSErr
}

// reason is the C library's text for an error: Go's begins in lower case.
func reason(err error) string {
	text := err.Error()
	var errno syscall.Errno
	if errors.As(err, &errno) {
		text = errno.Error()
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
