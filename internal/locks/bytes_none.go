//go:build dragonfly || freebsd || netbsd || openbsd

package locks

import "syscall"

// recordCall answers that there are no open file description locks here.
func recordCall(Range) call {
	return func(int, Op, bool) error { return syscall.ENOSYS }
}
