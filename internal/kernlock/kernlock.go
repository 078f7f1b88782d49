// Package kernlock takes the locks of the kernel on an open descriptor.
//
// A lock of flock(2) or an open file description lock of fcntl(2) belongs to the open file: it lasts until the last
// descriptor of that open file, in whatever process, is closed. A POSIX record lock belongs to a process.
//
// Only a lock call returns a bare errno: that tells its errors from those of timers and opens (IsOwn).
//
// Every family of systems defines:
//
//	HasFlock             whether flock(2) exists in the system's interface; a kernel or a filesystem can still answer
//	                     that it has none (IsAbsent)
//	OwnedByProcess       whether Record takes POSIX record locks, for want of others
//	Flock, Record        the lock calls
package kernlock

import (
	"errors"
	"runtime"
	"time"

	"example.org/flock/internal/sys"
)

// HasPlaces reports whether TakePlace works. On other systems a lock of flock(2) covers the bytes that fcntl(2) locks.
const HasPlaces = runtime.GOOS == "linux" || runtime.GOOS == "android"

// Op is what is to be done with a lock.
type Op uint8

const (
	Exclusive Op = iota
	Shared
	Unlock
)

// A Range is a range of bytes of a file. Length 0 is to the end of the file, however far it grows.
type Range struct{ Start, Length int64 }

// A Call makes one lock call, which waits if wait is true.
type Call func(fd int, op Op, wait bool) error

// These errors say that somebody else has the lock. They are no failures.
var (
	ErrConflict = errors.New("another process holds the lock")
	ErrTimeout  = errors.New("another process still holds the lock")
)

// A Limit says how long to wait for a lock. The zero Limit waits for ever.
type Limit struct {
	Nonblock bool
	Deadline time.Time // zero: none
}

// Wait sleeps for d, but not beyond the deadline. It answers ErrConflict if there must be no wait, and ErrTimeout if the
// deadline has passed.
func (l Limit) Wait(d time.Duration) error {
	if l.Nonblock {
		return ErrConflict
	}
	if !l.Deadline.IsZero() {
		left := time.Until(l.Deadline)
		if left <= 0 {
			return ErrTimeout
		}
		d = min(d, left)
	}
	sys.Sleep(d)
	return nil
}

// A TimerError says that the wait could not be limited.
type TimerError struct{ Err error }

func (e *TimerError) Error() string { return "cannot set up timer: " + sys.Text(e.Err) }
func (e *TimerError) Unwrap() error { return e.Err }
