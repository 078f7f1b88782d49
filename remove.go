package main

import (
	"errors"
	"io/fs"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/termination"
)

// removeLockFile removes the lock file when the command has ended, unless somebody has the lock, such as a child of the
// command: then it is for the last one to remove the file.
func (a *attempt) removeLockFile() {
	again, err := true, error(nil)
	for again && err == nil {
		again, err = a.tryRemove()
	}
	termination.Released()
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

// tryRemove removes the lock file while it holds the exclusive lock, for which it does not wait. It reports whether to
// try again: with a lock that is on the name, a contender may make the file again, find the lock of this removal, and
// give up. Its file would stay.
func (a *attempt) tryRemove() (again bool, err error) {
	f, err := lockfile.OpenToRemove(a.file.Name, neededAccess(a.Backend, locks.Exclusive, 0))
	if err != nil {
		return false, err
	}
	defer f.Close()
	config := mechanisms(a.Backend)
	config.Warn, config.WarnVerbose = a.out.Warn, func(string) {}
	lock := locks.New(f, config)
	if err := lock.Lock(locks.Exclusive, locks.Try); err != nil {
		return false, err
	}
	if err := f.Remove(); err != nil {
		lock.Unlock()
		return false, err
	}
	return lock.IsOnName(), lock.Discard()
}
