//go:build unix

package kernlock

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"golang.org/x/sys/unix"
)

// A permit is a shared flock(2), which an exclusive one waits for, and one of the first n bytes from PermitBase on, locked
// exclusively with an open file description lock. The kernel frees both when their last holder dies, and a child that
// has the descriptor keeps them.

// PermitBase is the first byte that stands for a permit. It is so far out that unlocking a permit does not touch what
// --fcntl --start has locked on the same descriptor.
const (
	PermitBase = 1 << 62
	permitEnd  = PermitBase + math.MaxInt32
)

// IsPermit reports whether a write lock that begins at start is a permit.
func IsPermit(start int64) bool { return start >= PermitBase && start < permitEnd }

// placeBase is the first byte that stands for a place in a queue. It is before those for permits, so that looking for a
// permit does not find it.
const placeBase = 1 << 61

// IsPlace reports whether a write lock that begins at start is a place in a queue.
func IsPlace(start int64) bool { return start >= placeBase && start < placeBase+math.MaxInt32 }

// TakePlace takes one of n places in the queue of those who wait for a lock on the file: it locks one of n bytes. fd is an
// open file that nobody else has, so that the place goes with its process. The error is ErrConflict if all are taken.
func TakePlace(fd, n int) error {
	for i := range int64(n) {
		if err := setBytes(fd, Exclusive, placeBase+i, 1); err != ErrConflict {
			return err
		}
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: placeBase, Len: int64(n)}
	err := unix.FcntlFlock(uintptr(fd), unix.F_GETLK, &lock)
	if err == nil && lock.Type != unix.F_UNLCK && (lock.Start < placeBase || lock.Len != 1) {
		return errForeign
	}
	return ErrConflict
}

// errForeign says that the bytes for places are locked for another reason.
var errForeign = errors.New("another program has locked all of it with fcntl(2)")

// LockPermit takes one of n permits, with a shared flock(2) unless withoutFlock is set. An error for which IsRecordUnsupported
// holds says that the kernel has no byte locks here; then the shared lock, which it may have, is kept.
//
// The kernel can wait for one given byte only, so LockPermit polls, the less often the longer it has waited. Between two attempts it holds no lock: an exclusive
// lock waits for holders, not for waiters.
func LockPermit(fd, n int, withoutFlock bool, limit Limit) error {
	for began := time.Now(); ; {
		if !withoutFlock {
			if err := Acquire(Flock, fd, Shared, limit); err != nil && !IsUnsupported(err) {
				return err
			}
		}
		err := tryPermits(fd, n)
		if err != ErrConflict {
			return err
		}
		UnlockPermit(fd)
		pause := max(time.Millisecond, min(time.Since(began)/20, 100*time.Millisecond))
		if err := limit.Sleep(pause/2 + rand.N(pause)); err != nil {
			return err
		}
	}
}

// UnlockPermit undoes LockPermit. An error for which IsRecordUnsupported holds says that the kernel has no byte locks here.
func UnlockPermit(fd int) error {
	err := unlockBytes(fd, PermitBase, permitEnd)
	if failed := Flock(fd, Unlock, false); failed != nil && !IsUnsupported(failed) {
		return failed
	}
	return err
}

// tryPermits locks one of n bytes and unlocks the others. One that the descriptor had before is free to itself.
func tryPermits(fd, n int) error {
	for i := range int64(n) {
		err := setBytes(fd, Exclusive, PermitBase+i, 1)
		if err == ErrConflict {
			continue
		}
		if err == nil {
			err = unlockBytes(fd, PermitBase, PermitBase+i)
		}
		if err == nil {
			err = unlockBytes(fd, PermitBase+i+1, permitEnd)
		}
		return err
	}
	return ErrConflict
}

func unlockBytes(fd int, start, end int64) error {
	if start == end {
		return nil // a length of 0 would be to the end of the file
	}
	return setBytes(fd, Unlock, start, end-start)
}

func setBytes(fd int, op Op, start, length int64) error {
	return repeat(Record(Range{start, length}), fd, op, false)
}
