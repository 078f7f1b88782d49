//go:build dragonfly || freebsd || netbsd || openbsd

package locks

import "syscall"

// There are no open file description locks here.
const (
	HasByteLocks = false
	HasRanges    = false
)

// bytesCall answers that.
func bytesCall(Range) call {
	return func(int, Op, bool) error { return syscall.ENOSYS }
}
