package fallback

import (
	"errors"
	"io/fs"
	"strconv"

	"example.org/flock/internal/sys"
)

// ErrLocked is what errors.Is finds in the error of a lock that others hold. That error is a *LockedError.
var ErrLocked = errors.New("locked by another holder")

// A LockedError says who holds the lock. errors.Is finds ErrLocked in it and, if the deadline of a context has passed,
// context.DeadlineExceeded.
type LockedError struct {
	Dir     string   // the state directory
	Holders []Holder // at least one

	cause error // nil, or context.DeadlineExceeded
}

func (e *LockedError) Is(target error) bool { return target == ErrLocked }
func (e *LockedError) Unwrap() error        { return e.cause }

// Error names the holders, as in "held by process 123".
func (e *LockedError) Error() string {
	s := "held by "
	for i, h := range e.Holders {
		switch {
		case i == 4 && len(e.Holders) > 5:
			return s + " and " + strconv.Itoa(len(e.Holders)-i) + " others"
		case i > 0 && i == len(e.Holders)-1:
			s += " and "
		case i > 0:
			s += ", "
		}
		s += h.String()
	}
	return sys.Printable(s)
}

// String names the holder, as in "process 123", and says what to do if that is unknown here and known to be gone.
func (h Holder) String() string {
	s := "process " + strconv.Itoa(h.PID)
	if h.PID == 0 {
		s = "a process"
	}
	if h.Mode == Busy {
		s += ", which is taking or releasing it"
	}
	if h.Where != "" {
		s += " " + h.Where
	}
	if h.Unreachable {
		s += " (" + h.Advice() + ")"
	}
	return s
}

// Advice says what to do where a holder is Unreachable.
func (h Holder) Advice() string {
	if h.Mode == Busy {
		return "if that is gone, rename " + h.Path + " to " + free
	}
	return "remove " + h.Path + " if that is gone"
}

// A Holder holds the lock, or waits for it.
type Holder struct {
	// PID is the process id. It is 0 where the process is in another pid namespace of this machine, and cannot be seen. On another
	// machine, or by another mount of the filesystem, it is the id there.
	PID int
	// Host is the name of its machine, for people to read.
	Host string
	Mode Mode
	// Waiting says that it does not hold the lock yet.
	Waiting bool
	// Unreachable says that this process cannot tell whether the holder lives.
	Unreachable bool
	// Path is what to remove if the holder is Unreachable and known to be gone; that of a Busy one is to be renamed to "free".
	Path string
	// Where says where it runs, if that is not here: "on host b", for instance. It is printable.
	Where string
}

// A stateError says what is wrong with a state directory.
type stateError string

func (e stateError) Error() string { return sys.Printable(string(e)) }

// removeIt says what to do about a state directory that cannot be used.
const removeIt = "; when nobody uses the lock, remove the directory"

const (
	errIsLink      = stateError("it is a symbolic link, which is never made here; remove it")
	errNoDirectory = stateError("it is not a directory; remove it")
	errNoToken     = stateError("its token is missing, perhaps removed by a cleaner of old files" + removeIt)
	errNoFIFO      = stateError("this filesystem has no FIFOs, which a directory lock needs: use native locks, or FLOCK_DIR on " +
		"another filesystem")
	errDeaf = stateError("a FIFO of this process does not answer here: use native locks, or FLOCK_DIR on another filesystem")
)

func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) || sys.IsStale(err) }

func ignoreAbsent(err error) error {
	if isAbsent(err) {
		return nil
	}
	return err
}

// A stateDirError says what could not be done to which state directory.
type stateDirError struct {
	op, dir string
	err     error
}

func (e *stateDirError) Unwrap() error { return e.err }

func (e *stateDirError) Error() string {
	return sys.Printable(e.op + ": state directory " + e.dir + ": " + sys.Text(e.err))
}
