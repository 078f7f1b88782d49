package fallback

import (
	"errors"
	"io/fs"

	"example.org/flock/internal/sys"
)

// A stateError says why a lock cannot be had although no operation has failed: what is wrong with its state directory,
// its file, or its caller.
type stateError string

func (e stateError) Error() string { return sys.Printable(string(e)) }

// removeIt says what to do about a state directory that cannot be used.
const removeIt = "; when nobody uses the lock, remove the directory"

const (
	errIsLink      = stateError("it is a symbolic link, which is never made here; remove it")
	errNoDirectory = stateError("it is not a directory; remove it")
	errNoToken     = stateError("its token is missing, perhaps removed by a cleaner of old files or lost in a copy" +
		removeIt)
	errUnnamed   = stateError("its file was deleted, or has no name here")
	errElsewhere = stateError("the path leads elsewhere than its text says, into another mount namespace or below a " +
		"mount: use another path")
	errNoSignal = stateError("62 open files have the lock, or may have it: that is as many as can have it")
	errNoFIFO   = stateError("this filesystem has no FIFOs, which a directory lock needs: use native locks, or " +
		"FLOCK_DIR on another filesystem")
	errDeaf = stateError("a FIFO of this process does not answer here: use native locks, or FLOCK_DIR on another " +
		"filesystem")
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
