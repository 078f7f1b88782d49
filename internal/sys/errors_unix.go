//go:build unix

package sys

import (
	"errors"
	"slices"
	"strings"
	"syscall"
)

// What is wrong with a number.
var (
	ErrRange   error = syscall.ERANGE
	ErrInvalid error = syscall.EINVAL
)

// Text returns the text of an error, that of the C library for an errno: Go's begins in lower case.
func Text(err error) string {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err.Error()
	}
	text := errno.Error()
	if number, unknown := strings.CutPrefix(text, "errno "); unknown {
		return "Unknown error " + number
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// LacksMemory reports whether the system is out of memory.
func LacksMemory(err error) bool { return Is(err, syscall.ENOMEM) }

// LacksResources reports whether the system is out of memory, descriptors or locks.
func LacksResources(err error) bool {
	return LacksMemory(err) || Is(err, syscall.EMFILE, syscall.ENFILE, syscall.ENOLCK)
}

// CannotCreate reports whether the filesystem is read-only or full.
func CannotCreate(err error) bool { return Is(err, syscall.EROFS, syscall.ENOSPC) }

// IsStale reports whether a file of a network filesystem was removed while the client still knew it.
func IsStale(err error) bool { return Is(err, syscall.ESTALE) }

// LacksPermission reports whether a permission is missing.
func LacksPermission(err error) bool { return Is(err, syscall.EACCES, syscall.EPERM) }

// BadDescriptor reports whether the descriptor is not open, or not open for what the call does.
func BadDescriptor(err error) bool { return Is(err, syscall.EBADF) }

// NobodyReads reports whether an output is closed, or a pipe without a reader.
func NobodyReads(err error) bool { return Is(err, syscall.EBADF, syscall.EPIPE) }

// Is reports whether err is one of these.
func Is(err error, list ...error) bool {
	return slices.ContainsFunc(list, func(known error) bool { return errors.Is(err, known) })
}
