package sys

import (
	"errors"
	"slices"
	"syscall"

	"golang.org/x/sys/windows"
)

var (
	ErrRange   error = syscall.ERANGE
	ErrInvalid error = syscall.EINVAL
)

// Text returns the system's text of an error.
func Text(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}

func LacksMemory(err error) bool {
	return is(err, windows.ERROR_NOT_ENOUGH_MEMORY, windows.ERROR_OUTOFMEMORY,
		windows.ERROR_NO_SYSTEM_RESOURCES, windows.ERROR_COMMITMENT_LIMIT)
}

func LacksResources(err error) bool {
	return LacksMemory(err) || is(err, windows.ERROR_TOO_MANY_OPEN_FILES)
}

func CannotCreate(err error) bool {
	return is(err, windows.ERROR_WRITE_PROTECT, windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL)
}

func LacksPermission(err error) bool {
	return is(err, windows.ERROR_ACCESS_DENIED, windows.ERROR_PRIVILEGE_NOT_HELD)
}

func NobodyReads(err error) bool {
	return is(err, windows.ERROR_INVALID_HANDLE, windows.ERROR_BROKEN_PIPE, windows.ERROR_NO_DATA)
}

// is compares the numbers themselves: errors.Is takes ERROR_ACCESS_DENIED and EACCES, for example, for the same error.
func is(err error, errnos ...syscall.Errno) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) && slices.Contains(errnos, errno)
}

func IsStale(error) bool { return false }

// BadDescriptor is never true: no descriptor can be locked here.
func BadDescriptor(error) bool { return false }
