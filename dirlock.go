package main

import (
	"errors"
	"io/fs"
	"path/filepath"

	"example.org/flock/fallback"
	"example.org/flock/internal/cstart"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/kernlock"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/output"
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

// directory is the mechanism of the directory lock.
type directory struct {
	*attempt
	isNamed bool // by --verbose
}

func (d *directory) lock(limit kernlock.Limit) (l heldLock, unsupported bool, err error) {
	lock, err := d.open()
	if err != nil {
		return nil, false, directoryError(d.file.Name, err)
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
	err = lock.Acquire(r)
	var held *fallback.LockedError
	if errors.As(err, &held) {
		return nil, false, &refusal{limit.Refusal(), held.Error()}
	}
	return directoryLock{lock, d.file.ByName}, false, directoryError(d.file.Name, err)
}

func (d *directory) unlock() (unsupported bool, err error) {
	if d.file.ByName {
		return false, nil // it was opened to be unlocked
	}
	l, err := d.open()
	if err == nil {
		err = l.Unlock()
	}
	return false, directoryError(d.file.Name, err)
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

// directoryError returns the error of the directory lock on a file. A full or read-only filesystem has an exit status of its
// own, as for a lock file that cannot be created.
func directoryError(file string, err error) error {
	var known *failure.Error
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case sys.BadDescriptor(err):
		return failure.New(output.ExDataErr, file, err)
	}
	failed := &failure.Error{Status: output.ExDataErr, Text: file + ": " + sys.Printable(err.Error()), Cause: err}
	denied := sys.LacksPermission(err) || sys.CannotCreate(err)
	switch {
	case sys.LacksResources(err):
		failed.Status = output.ExOSErr
	case sys.CannotCreate(err):
		failed.Status = output.ExCantCreat
	case denied:
		failed.Status = output.ExNoInput
	}
	switch dir, _ := cstart.Getenv("FLOCK_DIR"); {
	case denied && dir == "":
		failed.Hint = "FLOCK_DIR can name another place for the state directory"
	case dir != "" && (denied || errors.Is(err, fs.ErrNotExist)):
		failed.Hint = "the directory that FLOCK_DIR names must exist and be writable"
	}
	return failed
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
		return "", "", failure.Usage("FLOCK_DIR must be an absolute path: a relative path would mean a different place " +
			"in each directory: '" + base + "'")
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
