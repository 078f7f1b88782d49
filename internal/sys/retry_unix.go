//go:build unix

package sys

import "syscall"

// Retry makes a system call until no signal interrupts it.
func Retry[T any](call func() (T, error)) (T, error) {
	for {
		if result, err := call(); err != syscall.EINTR {
			return result, err
		}
	}
}
