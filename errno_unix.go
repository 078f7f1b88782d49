//go:build unix

package main

import (
	"errors"
	"strings"
	"syscall"
)

// What this system's errors mean for the exit status.

func lacksMemory(err error) bool { return is(err, syscall.ENOMEM) }

func lacksResources(err error) bool {
	return lacksMemory(err) || is(err, syscall.EMFILE, syscall.ENFILE, syscall.ENOLCK)
}

func cannotCreate(err error) bool { return is(err, syscall.EROFS, syscall.ENOSPC) }

func lacksPermission(err error) bool { return is(err, syscall.EACCES, syscall.EPERM) }

func badDescriptor(err error) bool { return is(err, syscall.EBADF) }

// nobodyReads reports whether a write failed as standard output is closed, or
// a pipe that nobody reads.
func nobodyReads(err error) bool { return is(err, syscall.EBADF, syscall.EPIPE) }

// is reports whether err is one of the errnos.
func is(err error, errnos ...syscall.Errno) bool {
	for _, e := range errnos {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

var (
	errRange   error = syscall.ERANGE
	errInvalid error = syscall.EINVAL
)

// reason is the C library's text for an error: Go's begins in lower case.
func reason(err error) string {
	text := err.Error()
	var errno syscall.Errno
	if errors.As(err, &errno) {
		text = errno.Error()
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
