package main

import (
	"errors"
	"strconv"
	"time"

	"example.org/flock/fallback"
	"example.org/flock/internal/cli"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/kernlock"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/output"
)

// whileNamed is --remove: when it has the lock, the name must still be that of the file which is open. Otherwise the next one
// would make a new file and lock that.
func (a *attempt) whileNamed(take locker) locker {
	return func(limit kernlock.Limit) (heldLock, error) {
		for {
			l, err := take(limit)
			_, failed := err.(*failure.Error) // the directory lock cannot follow a link whose file is gone
			if err != nil && !failed || a.file.IsNamed() {
				return l, err
			}
			if err == nil {
				l.Unlock()
			}
			if err := a.file.ReopenByName(); err != nil {
				return nil, failure.Opening(a.file.Name, err)
			}
		}
	}
}

// afterCooldown is --cooldown: it takes the lock when the cooldown of the last holder is over, and begins the next one. It
// does not hold the lock while it waits for that.
func (a *attempt) afterCooldown(take locker) locker {
	return func(limit kernlock.Limit) (heldLock, error) {
		for {
			// Before the lock, so that nobody holds it only to look at the time.
			if err := a.waitCooldown(limit); err != nil {
				return nil, err
			}
			l, err := take(limit)
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
}

// waitCooldown waits for the end of the cooldown. It looks again and again, because somebody may move the end.
func (a *attempt) waitCooldown(limit kernlock.Limit) error {
	for {
		end, left, err := a.cooldownLeft()
		if err != nil || left <= 0 {
			return err
		}
		if err := limit.Sleep(min(left, time.Second)); err != nil {
			return &refusal{err, "cooldown until " + output.FormatClock(end)}
		}
	}
}

// cooldownLeft returns when the cooldown ends, which is the modification time of the file, and the time until then.
func (a *attempt) cooldownLeft() (end time.Time, left time.Duration, err error) {
	end, err = a.file.ModTime()
	if err != nil {
		return end, 0, failure.New(output.ExOSErr, "cannot set the cooldown of "+a.file.Name, err)
	}
	return end, time.Until(end), nil
}

// startCooldown sets the end of the cooldown, counted from now.
func (a *attempt) startCooldown() error {
	if err := a.file.SetModTime(time.Now().Add(a.Cooldown)); err != nil {
		return failure.New(output.ExOSErr, "cannot set the cooldown of "+a.file.Name, err)
	}
	return nil
}

// inQueue is --queue and --report. It tries once. Before it waits it takes a place in the queue, and starts the report.
//
// At most N wait. Each has a place, which goes with its process: a byte of the file, locked by an open file of its own; where
// there are no byte locks, and with the directory lock, a permit of another directory lock. The place is given up when the
// lock is held, before the command starts: whoever finds all places taken knows that a command is yet to start.
func (a *attempt) inQueue(take locker) locker {
	return func(limit kernlock.Limit) (heldLock, error) {
		if a.Reports && a.Close && len(a.Command) == 0 {
			n := strconv.Itoa(a.FD)
			a.out.Note("-o does nothing to a descriptor: give " + n + ">&- to what must not keep the lock")
		}
		var own *lockfile.File
		if a.Queued && a.Backend != cli.Directory && kernlock.HasPlaces {
			var err error
			if own, err = a.openForQueue(); err != nil {
				return nil, err
			}
			defer own.Close()
		}
		l, err := take(kernlock.Try)
		if !kernlock.IsRefusal(err) || !limit.Waits() {
			return l, err
		}
		if a.Queued {
			place, err := a.takePlace(own, limit)
			if err != nil {
				return nil, err
			}
			defer place.Unlock()
		}
		if a.Reports {
			defer a.reportLater()()
		}
		return take(limit)
	}
}

// openForQueue opens the lock file for a place in its queue.
func (a *attempt) openForQueue() (*lockfile.File, error) {
	if a.file.Network() != lockfile.Local {
		return nil, failure.New(output.ExDataErr, a.file.Name, errQueueOnNetwork)
	}
	if _, err := a.file.ModTime(); err != nil {
		return nil, failure.New(output.ExDataErr, a.file.Name, err)
	}
	own, err := a.file.OpenPrivate()
	if err != nil {
		return nil, queueError(a.file.Name, err)
	}
	return own, nil
}

// takePlace takes a place in the queue. The error is kernlock.ErrConflict if there is none. own is nil if there are no byte
// locks.
func (a *attempt) takePlace(own *lockfile.File, limit kernlock.Limit) (place interface{ Unlock() error }, err error) {
	if own != nil {
		err = kernlock.TakePlace(own.FD, a.Queue)
		switch {
		case err == nil:
			return kernelLock(func() error { return nil }), nil // it goes with own
		case err == kernlock.ErrConflict:
			return nil, err
		case !kernlock.IsRecordUnsupported(err) || a.Backend != cli.Auto:
			return nil, queueError(a.file.Name, err)
		}
	}
	dir, path, err := stateDir(a.file)
	if err != nil {
		return nil, directoryError(a.file.Name, err)
	}
	l, err := fallback.OpenQueue(dir, path)
	if err != nil {
		return nil, directoryError(a.file.Name, err)
	}
	for {
		err := l.TryPermit(a.Queue)
		var held *fallback.LockedError
		switch {
		case !errors.As(err, &held):
			return l, directoryError(a.file.Name, err)
		case held.Holders[0].Mode != fallback.Busy:
			return nil, &refusal{kernlock.ErrConflict, "the queue: " + held.Error()}
		}
		// A process was stopped while it looked for a place. Nobody knows whether it gets one.
		if err := limit.Sleep(0); err != nil {
			return nil, err
		}
	}
}
