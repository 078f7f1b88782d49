package main

import (
	"errors"
	"io/fs"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/locks"
)

// takeNamed takes the lock on the file that has the name. A holder may have removed the one that is open: its lock
// would keep nobody out, because the next contender makes a new file and locks that.
func (a *attempt) takeNamed(timeout locks.Timeout) error {
	for {
		err := a.lock.Lock(a.Op, timeout)
		isNamed := a.file.IsNamed()
		switch {
		case err == nil && isNamed:
			return nil
		case err == nil:
			a.lock.Unlock()
		case isNamed, locks.IsRefusal(err), errors.Is(err, locks.ErrInterrupted):
			return err
		default: // it may come of the removal: the directory lock cannot follow a link whose file is gone
		}
		if err := a.file.ReopenByName(); err != nil {
			return failure.Opening(a.file.Name, err)
		}
	}
}

// removeLockFile removes the lock file when the command has ended, unless somebody has the lock, such as a child of the
// command: then it is for the last one to remove the file.
func (a *attempt) removeLockFile() (err error) {
	for mayBeBack := true; mayBeBack && err == nil; {
		mayBeBack, err = a.removeOnce()
	}
	return err
}

// removeOnce removes the lock file while it holds the exclusive lock, for which it does not wait. It reports whether
// the file may be there again: where the lock is on the name, a contender can make the file before the lock is
// released, be refused, and leave its file behind.
func (a *attempt) removeOnce() (mayBeBack bool, err error) {
	config := a.Config
	config.Permits, config.Range, config.Warn, config.WarnVerbose = 0, locks.Range{}, a.out.Warn, func(string) {}
	f, err := lockfile.OpenToRemove(a.file.Name, config.Access(locks.Exclusive))
	if err != nil {
		return false, err
	}
	defer f.Close()
	lock := a.lock.ToRemove(f, config)
	if err := lock.Lock(locks.Exclusive, locks.Try); err != nil {
		return false, err
	}
	if err := f.Remove(); err != nil {
		lock.Unlock()
		return false, err
	}
	mayBeBack = lock.IsOnName()
	return mayBeBack, lock.Discard()
}

// reportIfKept says why the lock file was not removed, if it is still there.
func (a *attempt) reportIfKept(err error) {
	name := a.file.Name
	_, kept := err.(lockfile.KeepReason)
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
	case kept, locks.IsRefusal(err):
		a.out.WarnVerbose("lock file " + name + " is not removed: " + err.Error())
	default:
		a.out.Fail(failure.New(failure.ExOSErr, "cannot remove lock file "+name, err))
	}
}
