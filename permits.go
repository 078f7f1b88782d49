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
const (
	permitBase = 1 << 62
	permitEnd  = permitBase + math.MaxInt32
)

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
			if err := asked(flockCall, f, &share); err != nil && !absent(err) {
				return f.lockError(err)
			}
		}
		switch err := tryPermits(f, o.permits); {
		case err == nil:
			return nil
		case o.backend == auto && (err == syscall.EINVAL || absent(err)):
			return errNoLocks
		case err != syscall.EAGAIN && err != syscall.EACCES:
			return f.lockError(err)
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
			if _, err = freeBytes(f, permitBase, permitBase+i); err == nil {
				_, err = freeBytes(f, permitBase+i+1, permitEnd)
			}
			return f.lockError(err)
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
	none, err := freeBytes(f, permitBase, permitEnd)
	if o.backend != auto || f.named {
		return
	}
	if none && err == nil {
		// There may be none as there are no byte locks at all.
		err = setByteLock(f, unix.F_UNLCK, permitBase, permitEnd-permitBase)
	}
	if err == syscall.EINVAL || absent(err) {
		if l, err := openDirectoryLock(f, o); err == nil {
			l.Unlock()
		}
	}
}

// freeBytes gives up the permits that f has from start to end, and reports
// whether nobody has any. A lock that reaches out of the bytes for permits is
// one that --fcntl has on all of the file, and stays whole.
//
// F_GETLK shows the locks of all open files, that of f among them; to unlock
// another's byte does nothing.
func freeBytes(f *lockFile, start, end int64) (none bool, err error) {
	if start >= end {
		return true, nil
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: start, Len: end - start}
	if err := unix.FcntlFlock(uintptr(f.fd), unix.F_GETLK, &lock); err != nil || lock.Type == unix.F_UNLCK {
		return true, err
	}
	lockEnd := lock.Start + lock.Len
	if lock.Len == 0 {
		lockEnd = math.MaxInt64 // to the end of the file
	}
	from, to := max(start, lock.Start), min(end, lockEnd)
	if lock.Start >= permitBase && lockEnd <= permitEnd {
		if err := setByteLock(f, unix.F_UNLCK, from, to-from); err != nil {
			return false, err
		}
	}
	if _, err := freeBytes(f, start, from); err != nil {
		return false, err
	}
	_, err = freeBytes(f, to, end)
	return false, err
}

func setByteLock(f *lockFile, kind int16, start, length int64) error {
	lock := unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: start, Len: length}
	for {
		if err := ofdSet(f.fd, false, &lock); err != syscall.EINTR {
			return err
		}
	}
}
