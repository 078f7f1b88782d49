// Package kernlock takes the locks of the kernel on an open descriptor.
//
// A lock of flock(2) or an open file description lock of fcntl(2) belongs to the open file: it lasts until the last
// descriptor of that open file, in whatever process, is closed. A POSIX record lock belongs to a process.
//
// Only a lock call returns a bare errno: that tells its errors from those of timers and opens (IsAnswer).
//
// Every family of systems defines:
//
//	HasFlock             whether flock(2) exists in the system's interface; a kernel or a filesystem can still answer
//	                     that it has none (IsUnsupported)
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

// CoversBytes reports whether a lock of flock(2) covers the bytes of an open file description lock, even where it is shared.
const CoversBytes = runtime.GOOS == "darwin" || runtime.GOOS == "illumos" || runtime.GOOS == "solaris"

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

// These errors refuse a lock that another process holds: to a Limit that does not wait, and to one that is over.
var (
	ErrConflict = errors.New("another process holds the lock")
	ErrTimeout  = errors.New("another process still holds the lock")
)

// IsRefusal reports whether err says that another process holds the lock. That is an answer rather than a failure.
func IsRefusal(err error) bool { return errors.Is(err, ErrConflict) || errors.Is(err, ErrTimeout) }

// RefusalText says, as util-linux does, that the lock is refused.
func RefusalText(err error) string {
	if errors.Is(err, ErrTimeout) {
		return "timeout while waiting to get lock"
	}
	return "failed to get lock"
}

// A Limit says how long to wait for a lock.
type Limit struct {
	try      bool
	deadline time.Time
}

var (
	Try     = Limit{try: true} // does not wait
	Forever = Limit{}
)

// Until waits until a moment has come.
func Until(deadline time.Time) Limit { return Limit{deadline: deadline} }

// Waits reports whether the limit allows to wait at all.
func (l Limit) Waits() bool { return !l.try }

// Deadline returns when the wait ends, and false if it does not end, or does not begin.
func (l Limit) Deadline() (deadline time.Time, ends bool) { return l.deadline, !l.deadline.IsZero() }

// Refusal returns the error that refuses the lock once the limit is reached.
func (l Limit) Refusal() error {
	if l.try {
		return ErrConflict
	}
	return ErrTimeout
}

// Sleep sleeps for d, but not beyond the deadline. It returns the Refusal if the limit is reached.
func (l Limit) Sleep(d time.Duration) error {
	if l.try {
		return l.Refusal()
	}
	if deadline, ends := l.Deadline(); ends {
		left := time.Until(deadline)
		if left <= 0 {
			return l.Refusal()
		}
		d = min(d, left)
	}
	sys.Sleep(d)
	return nil
}
