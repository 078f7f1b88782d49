//go:build dragonfly || freebsd || netbsd || openbsd

package locks

import (
	"syscall"

	"example.org/flock/internal/lockbytes"
)

// recordCall answers that there are no open file description locks here.
func recordCall(lockbytes.Range) call {
	return func(int, Op, bool) error { return syscall.ENOSYS }
}
