package main

import (
	"context"
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
	file *lockfile.File
}

// Inherit gives the command the lifeline under the number of the lock file, which gets another one.
func (l directoryLock) Inherit() (err error) {
	l.file.FD, err = l.Lock.Inherit(l.file.FD)
	return err
}

// Leave releases the lock of a file that was opened by name. The lock of a descriptor stays with the caller. If the release
// fails, the next contender does it.
func (l directoryLock) Leave() {
	if l.file.ByName {
		l.Unlock()
	}
}

// directory is the mechanism of the directory lock.
type directory struct {
	*attempt
	isNamed bool // by --verbose
}

func (d *directory) lock(limit kernlock.Limit) (l heldLock, unsupported bool, err error) {
	lock, err := d.open()
	if err != nil {
		return nil, false, d.directoryError(err)
	}
	lock.Waiting = d.reportVain
	r := fallback.Request{Mode: fallback.Exclusive, Permits: d.Permits, Try: !limit.Waits()}
	r.Deadline, _ = limit.Deadline()
	switch {
	case d.Permits > 0:
		r.Mode = fallback.Permit
	case d.Op == kernlock.Shared:
		r.Mode = fallback.Shared
	}
	err = lock.Acquire(context.Background(), r)
	var held *fallback.LockedError
	if errors.As(err, &held) {
		return nil, false, &refusal{limit.Refusal(), held.Error()}
	}
	return directoryLock{lock, d.file}, false, d.directoryError(err)
}

func (d *directory) unlock() (unsupported bool, err error) {
	if d.file.ByName {
		return false, nil // it was opened to be unlocked
	}
	l, err := d.open()
	if err == nil {
		err = l.Unlock()
	}
	return false, d.directoryError(err)
}

// open returns the directory lock of the file.
func (d *directory) open() (*fallback.Lock, error) {
	dir, path, err := stateDir(d.file)
	if err != nil {
		return nil, err
	}
	if !d.isNamed {
		d.isNamed = true
		d.out.WarnVerbose("using the directory lock " + sys.Printable(dir))
	}
	if d.file.ByName {
		return fallback.OpenIn(dir, path), nil
	}
	return fallback.OpenFile(dir, path, d.file.FD)
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
