//go:build unix

package main

import (
	"io"
	"math"
	"math/rand/v2"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A permit is a shared flock(2), which an exclusive one waits for, and one of
// the first --permits bytes from permitBase on, locked exclusively with an open
// file description lock. Both are the kernel's, so a killed holder's permit is
// free at once, and a child that has the descriptor keeps it.

// permitBase is so far out that flock -u, which frees the permit that the
// descriptor may have, does not meet what --fcntl --start has locked on it.
const permitBase = 1 << 62

// lockPermit gets a permit. The error is errNoLocks if the kernel has no such
// byte locks; then the shared lock, which it may have, is kept.
//
// The kernel can wait for one certain byte only, so this polls. Between two
// looks it has no lock: an exclusive flock waits for holders, not for waiters.
func lockPermit(f *lockFile, o *options) error {
	share := *o
	share.op = shared
	for pause := time.Millisecond; ; pause = min(pause*3/2, 12*time.Millisecond) {
		if o.backend != byFcntl {
			if err := asked(flockCall, f, &share); err != nil && !absent(err, f) {
				return err
			}
		}
		switch err := tryPermits(f, o.permits); {
		case err == nil:
			return nil
		case o.backend == auto && (err == syscall.EINVAL || absent(err, f)):
			return errNoLocks
		case err != syscall.EAGAIN && err != syscall.EACCES:
			return &stepError{locking, f.name, err}
		}
		f.release()
		d := pause/2 + rand.N(pause)
		if o.nonblock {
			return errConflict
		}
		if o.limited {
			left := time.Until(o.deadline)
			if left <= 0 {
				return errTimeout
			}
			d = min(d, left)
		}
		time.Sleep(d)
	}
}

// tryPermits locks one of n bytes, and gives up any other that the descriptor
// had: to itself those are free.
func tryPermits(f *lockFile, n int) (err error) {
	for i := range int64(n) {
		if err = setByteLock(f, unix.F_WRLCK, permitBase+i, 1); err == nil {
			if i > 0 {
				setByteLock(f, unix.F_UNLCK, permitBase, i)
			}
			return setByteLock(f, unix.F_UNLCK, permitBase+i+1, math.MaxInt32)
		}
		if err != syscall.EAGAIN && err != syscall.EACCES {
			return err
		}
	}
	return err
}

// freePermit gives up the permit that f may have, be it a byte or, for want of
// byte locks, one of the directory lock.
func freePermit(f *lockFile, o *options) {
	if f.hasNoPermit() {
		return // a byte of a lock that --fcntl has on all of the file is not ours to free
	}
	err := setByteLock(f, unix.F_UNLCK, permitBase, math.MaxInt32)
	if o.backend == auto && !f.named && (err == syscall.EINVAL || absent(err, f)) {
		if l, err := openDirectoryLock(f, o); err == nil {
			l.Unlock()
		}
	}
}

func setByteLock(f *lockFile, kind int16, start, length int64) error {
	lock := unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: start, Len: length}
	for {
		if err := ofdSet(f.fd, false, &lock); err != syscall.EINTR {
			return err
		}
	}
}
