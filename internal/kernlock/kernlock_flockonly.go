//go:build dragonfly || freebsd || netbsd || openbsd

package kernlock

import "syscall"

// Record answers that there are no open file description locks here.
func Record(Range) Call {
	return func(int, Op, bool) error { return syscall.ENOSYS }
}
