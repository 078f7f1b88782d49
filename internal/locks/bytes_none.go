//go:build dragonfly || freebsd || netbsd || openbsd

package locks

import "syscall"

// bytesCall answers that there are no open file description locks here.
func bytesCall(Range) call {
	return func(int, Op, bool) error { return syscall.ENOSYS }
}
