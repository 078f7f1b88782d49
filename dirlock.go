package main

import (
	"errors"
	"path/filepath"

	"example.org/flock/fallback"
	"example.org/flock/internal/cli"
	"example.org/flock/internal/cstart"
	"example.org/flock/internal/kernlock"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

// Package fallback has the directory lock. A file that flock opens by name is locked by a lifeline, which the command inherits
// as it inherits the file; the open file of a descriptor is locked itself.

// A directoryLock is a lock of package fallback that is held.
type directoryLock struct {
	*fallback.Lock
	byName bool
}

// Leave releases the lock of a file that was opened by name. The lock of a descriptor stays with the caller. If the release
// fails, the next contender does it.
func (l directoryLock) Leave() {
	if l.byName {
		l.Unlock()
	}
}

// noLock is that of a file which was opened to be unlocked.
var noLock = kernelLock(func() error { return nil })

var errNoDescriptor = errors.New("here a directory lock cannot be that of a descriptor: use flock FILE COMMAND")

// lockDirectory takes or releases the directory lock.
func (a *attempt) lockDirectory() (heldLock, error) {
	if a.Op == kernlock.Unlock && a.file.ByName {
		return noLock, nil
	}
	l, err := openDirectoryLock(a.file)
	if err != nil {
		return nil, a.directoryError(err)
	}
	a.out.WarnVerbose("using the directory lock " + sys.Printable(l.Dir()))
	if a.Op == kernlock.Unlock {
		return noLock, a.directoryError(l.Unlock())
	}
	l.Waiting = a.reportVain
	r := fallback.Request{Mode: fallback.Exclusive, Permits: a.Permits, Try: a.Nonblock, Deadline: a.deadline}
	switch {
	case a.Permits > 0:
		r.Mode = fallback.Permit
	case a.Op == kernlock.Shared:
		r.Mode = fallback.Shared
	}
	err = l.Acquire(r)
	var held *fallback.LockedError
	switch {
	case !errors.As(err, &held):
		return directoryLock{l, a.file.ByName}, a.directoryError(err)
	case a.Nonblock:
		err = kernlock.ErrConflict
	default:
		err = kernlock.ErrTimeout
	}
	a.out.WarnVerbose(held.Error())
	return nil, err
}

func (a *attempt) directoryError(err error) error {
	var usage *cli.UsageError
	switch {
	case err == nil, errors.As(err, &usage):
		return err
	case sys.BadDescriptor(err):
		return &fileError{locking, a.file.Name, err}
	}
	return &fileError{lockingDirectory, a.file.Name, err}
}

// reportVain warns that the wait for these holders may be in vain, where this process cannot tell whether they still hold.
func (a *attempt) reportVain(held *fallback.LockedError) {
	for _, h := range held.Holders {
		if h.Unreachable || h.Mode == fallback.Busy {
			a.out.Warn("waiting: " + held.Error())
			return
		}
	}
}

// openDirectoryLock returns the directory lock of the file.
func openDirectoryLock(f *lockfile.File) (*fallback.Lock, error) {
	dir, path, err := stateDir(f)
	if err != nil {
		return nil, err
	}
	if f.ByName {
		return fallback.OpenIn(dir, path), nil
	}
	l, err := fallback.OpenFile(dir, path, f.FD)
	if errors.Is(err, errors.ErrUnsupported) {
		err = errNoDescriptor
	}
	return l, err
}

// stateDir returns the state directory of a file and the path of the file.
func stateDir(f *lockfile.File) (dir, path string, err error) {
	base, _ := cstart.Getenv("FLOCK_DIR")
	if base != "" && !filepath.IsAbs(base) {
		return "", "", &cli.UsageError{Text: "FLOCK_DIR must be an absolute path: a relative path would mean a different place " +
			"in each directory: '" + base + "'"}
	}
	if f.ByName {
		path = f.Name
		dir, err = fallback.StateDir(path, base)
	}
	if !f.ByName || err != nil && f.FD >= 0 { // the working directory may have been removed
		if path, err = proc.Path(f.FD); err == nil {
			dir, err = fallback.StateDir(path, base)
		}
	}
	return dir, path, err
}
