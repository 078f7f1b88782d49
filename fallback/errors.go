package fallback

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"example.org/flock/internal/sys"
)

// ConflictError says that the lock is held by others.
type ConflictError struct {
	Dir     string   // the state directory
	Holders []Holder // at least one

	cause error // context.DeadlineExceeded from Lock, nil from TryLock
}

func (e *ConflictError) Unwrap() error { return e.cause }

// Error names the holders, as in "held by process 123".
func (e *ConflictError) Error() string {
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
		s += "process " + strconv.Itoa(h.PID)
		if h.Mode == Busy {
			s += ", which is taking or releasing it"
		}
		if h.Unreachable {
			s += " " + h.Where() + " (remove " + h.File + " if that is gone)"
		}
	}
	return sys.Printable(s)
}

// Where says, of a holder that is Unreachable, what is known of where it runs: "on host b", for instance. What other
// machines have written there is printable.
func (h Holder) Where() string {
	s := "on host " + h.Host
	switch local := here(); {
	case h.Boot != "" && h.Boot == local.Boot:
		s = "of another pid namespace " + s
	case h.Host == local.Host && h.Boot != "":
		s = "of another boot " + s
	}
	return sys.Printable(s)
}

// Unreachable reports whether there is a holder of which this machine cannot tell whether it lives.
func (e *ConflictError) Unreachable() bool {
	for _, h := range e.Holders {
		if h.Unreachable {
			return true
		}
	}
	return false
}

// A stateError says what is wrong with a state directory.
type stateError string

func (e stateError) Error() string { return sys.Printable(string(e)) }

// A dirError says what could not be done to which state directory.
type dirError struct {
	op, dir string
	err     error
}

func (e *dirError) Unwrap() error { return e.err }

func (e *dirError) Error() string {
	err := e.err
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	s := e.op + ": state directory " + e.dir + ": " + sys.Text(err)
	if errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "read-only") {
		s += " (FLOCK_DIR can name a directory to keep it in)"
	}
	return sys.Printable(s)
}

func (p *place) explain(op string, err error) error {
	if err == nil {
		return nil
	}
	var done *dirError
	if errors.As(err, &done) {
		return err
	}
	return &dirError{op, p.dir, err}
}

func (p *place) public(rs []record) []Holder {
	var hs []Holder
	for _, r := range rs {
		h := Holder{Owner: r.owner, Mode: r.kind.mode(), File: p.dir, Unreachable: p.Fate(r.owner) == unknown}
		if r.kind == kindShared || r.kind == kindPermit {
			h.File += "/" + r.name
		}
		hs = append(hs, h)
	}
	return hs
}
