//go:build unix

package locks

import (
	"errors"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/sys"
)

// HasPlaces reports whether a byte of the file can be a place in its queue. On macOS and illumos a lock of flock(2)
// covers the bytes (coversBytes), and the BSDs have no open file description locks.
const HasPlaces = system == "linux" || system == "android"

// A place in a queue is a byte of the file. It is locked by an open file of the waiter's own, so that it goes with its
// process.
type place struct {
	file  *lockfile.File
	count int
}

var (
	errQueueOnNetwork = errors.New("on NFS --queue needs --backend directory for all who use the file, " +
		"and on SMB it does not work")
	errForeign = errors.New("another program has locked its bytes with fcntl(2)")
)

// kernelPlaces returns the mechanism of places that are locks of the kernel. It opens what they need.
func kernelPlaces(f *lockfile.File, config Config) ([]Mechanism, error) {
	if !HasPlaces || !config.Flock {
		return nil, nil
	}
	if f.Network() != lockfile.Local {
		return nil, failure.New(failure.ExDataErr, f.Name, errQueueOnNetwork)
	}
	if _, err := f.ModTime(); err != nil {
		return nil, lockingError(f, err) // the descriptor is not open
	}
	if _, err := f.OpenForBytes(); err != nil {
		return nil, withOpeningStatus(queueError(f.Name, err))
	}
	return []Mechanism{&place{file: f, count: config.Queue}}, nil
}

// Lock takes a place, and does not wait for one. If all are taken, it refuses the lock if somebody waits. A waiter is a
// write lock on a byte: a process that may only read the file can have read locks, which stand for nobody.
func (p *place) Lock(_ Op, timeout Timeout) error {
	own, err := p.file.OpenForBytes()
	if err != nil {
		return withOpeningStatus(queueError(p.file.Name, err))
	}
	somebodyWaits := false
	for next, end := Places.At(0), Places.At(int64(p.count)); next.Start < end.Start; {
		if err := tryByte(own.FD, next); err != ErrConflict {
			return p.explain(err)
		}
		l, isTaken, err := lockInTheWay(own.FD, Exclusive, next)
		switch {
		case err != nil:
			return p.explain(err)
		case isTaken:
			isPlace := l.Type == unix.F_WRLCK && l.Start == next.Start && l.Len == next.Length
			somebodyWaits = somebodyWaits || isPlace
			next.Start = endOf(l)
		case timeout.IsOver():
			return timeout.Conflict()
		default: // its owner has left in between: the place is free, and whoever does not take it is refused in vain
		}
	}
	if somebodyWaits {
		return ErrConflict
	}
	return queueError(p.file.Name, errForeign)
}

func (p *place) explain(answer error) error {
	switch {
	case isUnsupportedForBytes(answer):
		return &Unsupported{queueError(p.file.Name, answer)}
	case answer != nil:
		return queueError(p.file.Name, answer)
	}
	return nil
}

// Unlock gives up the place.
func (p *place) Unlock() error {
	p.file.CloseForBytes()
	return nil
}

func (p *place) Kind() Kind { return ByFcntl }

// queueError returns the error of a file that has no places for those who wait.
func queueError(file string, err error) *failure.Error {
	return optionError("--queue", file, OrByDirectory, err)
}

// withOpeningStatus gives the error of a file that cannot be opened once more the exit status of failure.Opening.
func withOpeningStatus(failed *failure.Error) error {
	switch {
	case sys.CannotCreate(failed.Cause):
		failed.Status = failure.ExCantCreat
	case sys.LacksPermission(failed.Cause):
		failed.Status = failure.ExNoInput
	}
	return failed
}
