//go:build unix

package kernlock

import (
	"math"
	"math/rand/v2"
	"syscall"
	"time"
)

// A permit is a shared flock(2), which an exclusive one waits for, and one of the first n bytes from PermitBase on, locked
// exclusively with an open file description lock. The kernel frees both when their last holder dies, and a child that
// has the descriptor keeps them.

// PermitBase is the first byte that stands for a permit. It is so far out that freeing a permit does not touch what
// --fcntl --start has locked on the same descriptor.
const PermitBase = 1 << 62

// LockPermit takes one of n permits, with a shared flock(2) unless withoutFlock is set. An error for which IsAbsent
// holds says that the kernel has no byte locks here; then the shared lock, which it may have, is kept.
//
// The kernel can wait for one given byte only, so LockPermit polls. Between two attempts it holds no lock: an exclusive
// lock waits for holders, not for waiters.
func LockPermit(fd, n int, withoutFlock bool, limit Limit) error {
	for pause := time.Millisecond; ; pause = min(pause*3/2, 12*time.Millisecond) {
		if !withoutFlock {
			if err := Acquire(Flock, fd, Shared, limit); err != nil && !IsAbsent(err) {
				return err
			}
		}
		err := tryPermits(fd, n)
		if err != ErrConflict {
			return err
		}
		if !withoutFlock {
			Flock(fd, Unlock, false)
		}
		if err := limit.Wait(pause/2 + rand.N(pause)); err != nil {
			return err
		}
	}
}

// tryPermits locks one of n bytes and unlocks the others. One that the descriptor had before is free to itself.
func tryPermits(fd, n int) error {
	for i := range int64(n) {
		switch err := setBytes(fd, Exclusive, PermitBase+i, 1); err {
		case nil:
			if i > 0 {
				setBytes(fd, Unlock, PermitBase, i)
			}
			return setBytes(fd, Unlock, PermitBase+i+1, math.MaxInt32)
		case ErrConflict:
		default:
			return err
		}
	}
	return ErrConflict
}

// FreePermit gives back the permit of a descriptor.
func FreePermit(fd int) error { return setBytes(fd, Unlock, PermitBase, math.MaxInt32) }

func setBytes(fd int, op Op, start, length int64) error {
	if !HasOFD {
		return syscall.ENOSYS
	}
	return try(Record(Range{start, length}), fd, op)
}
