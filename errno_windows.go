package main

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"
)

// What this system's errors mean for the exit status.

func lacksMemory(err error) bool {
	return is(err, windows.ERROR_NOT_ENOUGH_MEMORY, windows.ERROR_OUTOFMEMORY,
		windows.ERROR_NO_SYSTEM_RESOURCES, windows.ERROR_COMMITMENT_LIMIT)
}

func lacksResources(err error) bool {
	return lacksMemory(err) || is(err, windows.ERROR_TOO_MANY_OPEN_FILES)
}

func cannotCreate(err error) bool {
	return is(err, windows.ERROR_WRITE_PROTECT, windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL)
}

func lacksPermission(err error) bool {
	return is(err, windows.ERROR_ACCESS_DENIED, windows.ERROR_PRIVILEGE_NOT_HELD)
}

func badDescriptor(error) bool { return false } // there are none to be locked

// nobodyReads reports whether a write failed as standard output is closed, or
// a pipe that nobody reads.
func nobodyReads(err error) bool {
	return is(err, windows.ERROR_INVALID_HANDLE, windows.ERROR_BROKEN_PIPE, windows.ERROR_NO_DATA)
}

func is(err error, errnos ...syscall.Errno) bool {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		for _, e := range errnos {
			if errno == e {
				return true
			}
		}
	}
	return false
}

var (
	errRange   error = syscall.ERANGE
	errInvalid error = syscall.EINVAL
)

// reason is the system's text for an error.
func reason(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}
