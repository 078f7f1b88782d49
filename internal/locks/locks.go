// Package locks takes the lock on a file, by the first mechanism that the system and the filesystem support.
//
// A lock of flock(2) or an open file description lock of fcntl(2) belongs to the open file: it lasts until the last
// descriptor of that open file, in whatever process, is closed. A directory lock (package fallback) belongs to the
// processes that have its lifeline open or, if it was taken by the number of a descriptor, to the open file as well.
//
// Four calls release a lock. If the command left a child behind that inherited the lock, the child keeps it after LetGo
// and Leave:
//
//	         when                             a kernel lock                the directory lock
//	Unlock   no command keeps it; --unlock    is released                  is released
//	LetGo    the command has ended, and       goes with this open file if  stays
//	         such a child is to be reported   it is of flock(2)
//	Leave    the command has ended            goes when the file is        is released, unless it is the lock of
//	                                          closed: there is no call     the caller's descriptor
//	Discard  the lock file was removed        likewise                     is released, and its directory removed
//
// A lock call answers with the bare errno that it returns, nil if it succeeded: see Unsupported.
//
// Read chain.go first, then the mechanisms: kernel_unix.go, permit_unix.go and directory.go; then queue.go and
// place_unix.go, for --queue; ticket_linux.go, for --replace; bytes.go, which byte of a file stands for what; and the
// lock calls under all this, in wait_unix.go and the small files of the systems.
package locks

import (
	"errors"
	"strings"
	"time"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/sys"
)

// Op is an operation on a lock.
type Op uint8

const (
	Exclusive Op = iota
	Shared
	Unlock
)

// These errors are returned when another process holds the lock: at once (Try), or after the deadline.
var (
	ErrConflict = errors.New("another process holds the lock")
	ErrTimeout  = errors.New("another process still holds the lock")
)

// ErrInterrupted says that a signal has ended the wait; the process then dies of that signal (package termination).
var ErrInterrupted = errors.New("interrupted by a signal")

// ErrReplaced says that a newer run with --replace has come.
var ErrReplaced = errors.New("replaced by a newer run")

// IsRefusal reports whether err says that another process holds the lock, which is a conflict and no failure.
func IsRefusal(err error) bool { return errors.Is(err, ErrConflict) || errors.Is(err, ErrTimeout) }

// IsDenied reports whether the kernel, not another process, refuses the lock, so that waiting is in vain.
func IsDenied(err error) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Denied
}

// RefusalText returns util-linux's message for a refused lock.
func RefusalText(err error) string {
	if errors.Is(err, ErrTimeout) {
		return "timeout while waiting to get lock"
	}
	return "failed to get lock"
}

// A Refusal is a refusal with its reason.
type Refusal struct {
	Err    error  // ErrConflict or ErrTimeout
	Why    string // as in "held by process 123"
	Denied bool   // the kernel has denied the lock, so the holder is unknown
}

// Denial is the text for EACCES from a lock call on a local file. It counts as a conflict, as in util-linux.
const Denial = "Permission denied: a security policy may forbid locks on it"

func (r *Refusal) Error() string { return r.Err.Error() }
func (r *Refusal) Unwrap() error { return r.Err }

// FileError returns the error of a file that cannot be locked, when only the cause is known.
func FileError(f *lockfile.File, cause error) *failure.Error {
	failed := failure.New(failure.ExDataErr, f.Name, cause)
	if sys.BadDescriptor(cause) && !f.ByName && !f.IsOpen() { // else it is open, but not for writing
		failed.Hint = "is descriptor " + f.Name + " open?"
		if f.FD >= 3 && f.FD <= 9 { // they have a redirection for no other
			failed.Hint += strings.ReplaceAll(" ksh and mksh pass it on only with N>&N, as in "+failure.Program+" N N>&N",
				"N", f.Name)
		}
	}
	return failed
}

// A Timeout says how long to wait for a lock. The zero Timeout is Forever.
type Timeout struct {
	try      bool
	deadline time.Time
}

var (
	Try     = Timeout{try: true} // does not wait
	Forever = Timeout{}
)

// Until returns the timeout that ends at deadline.
func Until(deadline time.Time) Timeout { return Timeout{deadline: deadline} }

// Waits reports whether the caller may wait at all.
func (t Timeout) Waits() bool { return !t.try }

// Deadline returns when the wait ends; ends is false if it never ends, or never begins.
func (t Timeout) Deadline() (deadline time.Time, ends bool) { return t.deadline, !t.deadline.IsZero() }

// IsOver reports whether there is no time left to wait.
func (t Timeout) IsOver() bool {
	return t.try || !t.deadline.IsZero() && time.Until(t.deadline) <= 0
}

// Conflict returns the error for a lock that another process holds: ErrTimeout after the deadline, or ErrConflict.
func (t Timeout) Conflict() error {
	if !t.try && t.IsOver() {
		return ErrTimeout
	}
	return ErrConflict
}

// Sleep sleeps for d, but not beyond the deadline. It returns that of Conflict if the timeout is over.
func (t Timeout) Sleep(d time.Duration) error {
	if t.IsOver() {
		return t.Conflict()
	}
	if !t.deadline.IsZero() {
		d = min(d, time.Until(t.deadline))
	}
	sys.Sleep(d)
	return nil
}
