package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"example.org/flock/fallback"
	"example.org/flock/internal/cli"
	"example.org/flock/internal/command"
	"example.org/flock/internal/cstart"
	"example.org/flock/internal/kernlock"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/openfile"
	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

// Package fallback has the directory lock. This file says for whom it is: where the system can mark open files, for the open
// file of the descriptor, as a lock of the kernel is. Elsewhere it is for a process: the command, or the caller whose
// descriptor it is.

// A directoryLock is a lock of package fallback that is held.
type directoryLock struct {
	*fallback.Lock
	byName bool
}

// Leave releases the lock of a file that was opened by name, for which nobody else would. The lock of a descriptor stays
// with the caller. If the release fails, the next contender does it.
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
	l, err = d.lockDirectory(limit)
	return l, false, err
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
	l, err := d.openDirectoryLock()
	if err == nil && !d.isNamed {
		d.isNamed = true
		d.out.WarnVerbose("using the directory lock " + sys.Printable(l.Dir()))
	}
	return l, err
}

// lockDirectory takes the directory lock.
func (a *directory) lockDirectory(limit kernlock.Limit) (heldLock, error) {
	l, err := a.open()
	if err != nil {
		return nil, a.directoryError(err)
	}
	l.Waiting = func(held *fallback.LockedError) { a.reportVain(held) }
	r := fallback.Request{Mode: fallback.Exclusive, Permits: a.Permits, Try: !limit.Waits()}
	r.Deadline, _ = limit.Deadline()
	switch {
	case a.Permits > 0:
		r.Mode = fallback.Permit
	case a.Op == kernlock.Shared:
		r.Mode = fallback.Shared
	}
	err = l.Acquire(r)
	var held *fallback.LockedError
	if err != nil && a.child != nil {
		a.child.Abandon()
		a.child = nil
	}
	if errors.As(err, &held) {
		return nil, &refusal{limit.Refusal(), held.Error()}
	}
	return directoryLock{l, a.file.ByName}, a.directoryError(err)
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

// reportVain warns that the wait for these holders may be in vain, where this machine cannot tell whether they still hold.
func (a *attempt) reportVain(held *fallback.LockedError) {
	why, vain := "", false
	for _, h := range held.Holders {
		vain = vain || h.Unreachable || h.Concealed || h.Mode == fallback.Busy
		if h.Concealed && why == "" {
			why = "; process " + strconv.Itoa(h.PID) + " may still have the file open; you may not inspect it"
		}
	}
	if vain {
		a.out.Warn("waiting: " + held.Error() + why)
	}
}

// openDirectoryLock returns the directory lock of the file, for its owner.
func (a *attempt) openDirectoryLock() (*fallback.Lock, error) {
	dir, path, err := stateDir(a.file)
	if err != nil {
		return nil, err
	}
	caller := os.Getppid()
	if caller == 0 && !a.file.ByName {
		return nil, errors.New("the calling process is in another pid namespace")
	}
	fd := a.file.FD
	l, err := fallback.OfFile(dir, path, fd, a.file.ByName, !a.NoFork, func() (pid, number int) { return findOwner(fd) })
	switch {
	case l != nil || err != nil:
		return l, err
	case !a.file.ByName:
		return fallback.OfProcess(dir, path, caller, fd)
	case a.needsChild():
		if a.child, err = command.Prepare(a.Command); err == nil {
			return fallback.OfProcess(dir, path, a.child.PID, -1)
		} // else running it fails, too
	}
	return fallback.OfProcess(dir, path, os.Getpid(), -1)
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

// needsChild reports whether the lock is the command's, so that its process must be there before it runs. With --cooldown it
// is flock's, which sets the cooldown when the command has ended: nobody may get in before that.
func (a *attempt) needsChild() bool {
	return len(a.Command) > 0 && !a.Close && a.Cooldown == 0 && (!a.NoFork || !command.CanExec)
}

// findOwner returns a process that has the open file of our descriptor, and the number there: the eldest ancestor such that
// it and every process between it and us has the open file, or else this process. If the caller has ended, our parent is
// another process.
func findOwner(fd int) (pid, number int) {
	pid, number = os.Getpid(), fd
	for ancestor := os.Getppid(); ancestor > 0; ancestor = proc.Parent(ancestor) {
		n, state := openfile.Find(ancestor, number, fd, pid == os.Getpid())
		if state == openfile.Hidden && pid == os.Getpid() && proc.IsCaller(ancestor) {
			return ancestor, fd
		}
		if state != openfile.Found {
			break
		}
		pid, number = ancestor, n
	}
	return pid, number
}
