package sys

import (
	"errors"
	"strings"
	"syscall"
)

var (
	ErrRange   = errors.New("out of range")
	ErrInvalid = errors.New("invalid argument")
)

// Text returns the system's text of an error.
func Text(err error) string {
	var text syscall.ErrorString
	if errors.As(err, &text) {
		return string(text)
	}
	return err.Error()
}

// Errors are texts here, and each file server has its own.

func LacksMemory(err error) bool { return says(err, "memory") }

func LacksResources(err error) bool { return LacksMemory(err) || says(err, "no free file descriptors") }

func CannotCreate(err error) bool { return says(err, "read only", "read-only", "full") }

func LacksPermission(err error) bool { return says(err, "permission denied") }

func NobodyReads(err error) bool { return says(err, "hungup", "closed pipe", "fd out of range") }

func says(err error, texts ...string) bool {
	for _, text := range texts {
		if strings.Contains(Text(err), text) {
			return true
		}
	}
	return false
}

func IsTerminal(fd int) bool {
	path, err := syscall.Fd2path(fd)
	return err == nil && path == "/dev/cons"
}
