package main

import (
	"errors"
	"time"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/command"
	"example.org/flock/internal/kernlock"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/output"
)

// An attempt is a run's try to lock: what the user asked for, on which open file, until when.
type attempt struct {
	*cli.Options
	out      *output.Printer
	file     *lockfile.File
	deadline time.Time // zero: none
	child    *command.Child
}

// A heldLock is a lock that is held.
type heldLock interface {
	// Unlock releases the lock.
	Unlock() error
	// Started says that the command runs, with the process id pid; 0 if the lock's descriptor is closed there.
	Started(pid int)
	// Leave gives up the lock when the command has ended. Somebody else who has the same open file keeps it.
	Leave()
}

func (a *attempt) limit() kernlock.Limit {
	return kernlock.Limit{Nonblock: a.Nonblock, Deadline: a.deadline}
}

var errNoLocks = errors.New("neither the system nor the filesystem has such locks")

// take does what the user asked for. A lock with a cooldown is taken when the cooldown of the last holder is over, and
// begins the next one. It is not held while take waits for that.
func (a *attempt) take() (heldLock, error) {
	switch {
	case a.Remove:
		return a.lockNamed()
	case a.Cooldown == 0:
		return a.lock()
	case a.Op == kernlock.Unlock:
		if err := a.startCooldown(); err != nil {
			return nil, err
		}
		return a.lock()
	}
	for {
		// Before the lock, so that nobody holds it only to look at the time.
		if err := a.waitCooldown(); err != nil {
			return nil, err
		}
		l, err := a.lock()
		if err != nil {
			return nil, err
		}
		_, left, err := a.cooldownLeft()
		if err == nil && left <= 0 {
			if err = a.startCooldown(); err == nil {
				return l, nil
			}
		}
		l.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

// lockNamed takes the lock of a file that others remove: when it has the lock, the name must still be that of the file which
// is open. Otherwise the next one would make a new file and lock that.
func (a *attempt) lockNamed() (heldLock, error) {
	for {
		l, err := a.lock()
		_, failed := err.(*fileError) // the directory lock cannot follow a link whose file is gone
		if err != nil && !failed || a.file.IsNamed() {
			return l, err
		}
		if err == nil {
			l.Unlock()
		}
		if err := a.file.OpenAgain(); err != nil {
			return nil, &fileError{opening, a.file.Name, err}
		}
	}
}

// lock takes or releases the lock. The error is kernlock.ErrConflict or ErrTimeout if another process holds it.
func (a *attempt) lock() (heldLock, error) {
	if a.Backend != cli.Directory {
		l, err := a.lockNative()
		if err != errNoLocks {
			return l, err
		}
	}
	return a.lockDirectory()
}

// lockNative takes or releases the lock by the first way of locking that the backend allows and that the kernel and the
// filesystem have. The error is errNoLocks if they have none and the directory lock is next.
//
// All contenders must come to the same choice. So it goes on to the next way only after an answer of the lock call itself that
// every contender gets.
func (a *attempt) lockNative() (heldLock, error) {
	if a.Permits > 0 {
		// There the shared lock of one holder excludes the bytes of all others. Without it a plain lock does not always
		// exclude them: a client of NFS 4 that has the file to itself compares locks of one kind only, and on SMB single
		// bytes let too many in.
		if fs := a.file.Network(); fs == lockfile.SMB || fs == lockfile.NFS && a.Backend != cli.ByFcntl {
			return nil, &fileError{locking, a.file.Name, errPermitOnNetwork}
		}
		err := kernlock.LockPermit(a.file.FD, a.Permits, a.Backend == cli.ByFcntl, a.limit())
		if kernlock.IsAbsentRecord(err) && a.Backend == cli.Auto {
			return nil, errNoLocks
		}
		return kernelLock(func() error { return kernlock.ReleasePermit(a.file.FD) }), a.lockError(err)
	}
	if !a.file.ByName || a.Op == kernlock.Unlock {
		a.freePermit()
	}

	var absent error // the answer of a kernel without flock(2)
	if a.Backend != cli.ByFcntl {
		absent = a.call(kernlock.Flock)
		if a.Backend == cli.ByFlock || !kernlock.IsAbsent(absent) {
			return madeBy(kernlock.Flock, a.file.FD), a.lockError(absent)
		}
		if kernlock.OwnedByProcess {
			return nil, errNoLocks
		}
	}
	record := kernlock.Record(a.Range)
	err := a.call(record)
	if a.Backend != cli.ByFcntl {
		switch {
		case kernlock.IsAbsentRecord(err) && a.Backend == cli.Auto:
			return nil, errNoLocks
		case kernlock.IsAbsentRecord(err), err != nil && a.file.IsDirectory(): // it cannot be opened for writing
			return nil, a.lockError(absent)
		case a.Queued: // the lock covers the bytes that stand for places
			record(a.file.FD, kernlock.Unlock, false)
			return nil, &fileError{queueing, a.file.Name, absent}
		}
		a.out.WarnVerbose("using fcntl(2) locks")
	}
	return madeBy(record, a.file.FD), a.lockError(err)
}

// call makes a lock call, unless its answer is there already. If that may help, it makes the call again with the file open
// for writing.
func (a *attempt) call(call kernlock.Call) error {
	err := kernlock.Acquire(call, a.file.FD, a.Op, a.limit())
	if a.Op == kernlock.Exclusive && a.file.CanReopen() && kernlock.NeedsWriting(err) {
		if err := a.file.CheckReopen(); err != nil {
			return &fileError{locking, a.file.Name, err}
		}
		if err := a.file.Reopen(); err != nil {
			return &fileError{opening, a.file.Name, err}
		}
		err = kernlock.Acquire(call, a.file.FD, a.Op, a.limit())
	}
	return err
}

// lockError adds to the answer of a lock call which file it is about.
func (a *attempt) lockError(err error) error {
	switch {
	case !kernlock.IsOwn(err):
		return err
	case a.Backend != cli.ByFcntl && kernlock.NeedsWriting(err) && !a.file.ByName && a.file.Network() == lockfile.NFS:
		return &fileError{lockingOnNFS, a.file.Name, err}
	}
	return &fileError{locking, a.file.Name, err}
}

// freePermit gives back the permit that a descriptor may have: a byte or, where the kernel has no byte locks, a permit of
// the directory lock.
func (a *attempt) freePermit() {
	err := kernlock.FreePermit(a.file.FD)
	if kernlock.IsAbsentRecord(err) && a.Backend == cli.Auto && !a.file.ByName {
		if l, err := a.openDirectoryLock(); err == nil {
			l.Unlock()
		}
	}
}

// A kernelLock is a lock or a permit of the kernel on the open file of a descriptor. The function releases it.
type kernelLock func() error

func (release kernelLock) Unlock() error { return release() }
func (kernelLock) Started(int)           {}
func (kernelLock) Leave()                {} // the last one closes the open file

// madeBy is the lock that a call has made.
func madeBy(call kernlock.Call, fd int) kernelLock {
	return func() error { return call(fd, kernlock.Unlock, false) }
}

// waitCooldown waits for the end of the cooldown. It looks again and again, because somebody may move the end.
func (a *attempt) waitCooldown() error {
	for {
		end, left, err := a.cooldownLeft()
		if err != nil || left <= 0 {
			return err
		}
		if err := a.limit().Wait(min(left, 100*time.Millisecond)); err != nil {
			a.out.WarnVerbose("cooldown until " + output.FormatClock(end))
			return err
		}
	}
}

// cooldownLeft returns when the cooldown ends, which is the modification time of the file, and the time until then.
func (a *attempt) cooldownLeft() (end time.Time, left time.Duration, err error) {
	end, err = a.file.ModTime()
	if err != nil {
		return end, 0, &fileError{settingCooldown, a.file.Name, err}
	}
	return end, time.Until(end), nil
}

// startCooldown sets the end of the cooldown, counted from now.
func (a *attempt) startCooldown() error {
	if err := a.file.SetModTime(time.Now().Add(a.Cooldown)); err != nil {
		return &fileError{settingCooldown, a.file.Name, err}
	}
	return nil
}
