package main

import (
	"errors"
	"strconv"
	"time"

	"example.org/flock/fallback"
	"example.org/flock/internal/cli"
	"example.org/flock/internal/kernlock"
	"example.org/flock/internal/lockfile"
)

// --queue N: at most N wait. Each has a place, which goes with its process: a byte of the file, locked by an open file of
// its own; where there are no byte locks, and with the directory lock, a permit of another directory lock. The place is
// given up when the lock is held, before the command starts: whoever finds all places taken knows that a command is yet to
// start.

// acquire takes the lock. Before it waits, it looks whether it must: for a place, and for somebody to report.
func (a *attempt) acquire() (l heldLock, err error) {
	if a.Reports {
		if a.Close && len(a.Command) == 0 {
			n := strconv.Itoa(a.FD)
			a.out.Note("-o does nothing to a descriptor: give " + n + ">&- to what must not keep the lock")
		}
		defer func() { a.reportRefusal(err) }()
	}
	if a.Nonblock || !a.Queued && !a.Reports {
		return a.take()
	}
	var own *lockfile.File
	if a.Queued && a.Backend != cli.Directory && kernlock.HasPlaces {
		if own, err = a.openForQueue(); err != nil {
			return nil, err
		}
		defer own.Close()
	}
	deadline := a.deadline
	a.deadline = time.Unix(0, 0) // in the past: one attempt
	l, err = a.take()
	a.deadline = deadline
	if err != kernlock.ErrTimeout {
		return l, err
	}
	if a.Queued {
		place, err := a.takePlace(own)
		if err != nil {
			return nil, err
		}
		defer place.Unlock()
	}
	if a.Reports {
		defer a.reportLater()()
	}
	return a.take()
}

// openForQueue opens the lock file for a place in its queue.
func (a *attempt) openForQueue() (*lockfile.File, error) {
	if a.file.Network() != lockfile.Local {
		return nil, &fileError{locking, a.file.Name, errQueueOnNetwork}
	}
	if _, err := a.file.ModTime(); err != nil {
		return nil, &fileError{locking, a.file.Name, err}
	}
	own, err := a.file.Again()
	if err != nil {
		return nil, &fileError{queueing, a.file.Name, err}
	}
	return own, nil
}

// takePlace takes a place in the queue. The error is kernlock.ErrConflict if there is none. own is nil if there are no byte
// locks.
func (a *attempt) takePlace(own *lockfile.File) (place interface{ Unlock() error }, err error) {
	if own != nil {
		err = kernlock.TakePlace(own.FD, a.Queue)
		switch {
		case err == nil || err == kernlock.ErrConflict:
			return madeBy(kernlock.Record(kernlock.Range{}), own.FD), err
		case !kernlock.IsAbsentRecord(err) || a.Backend != cli.Auto:
			return nil, &fileError{queueing, a.file.Name, err}
		}
	}
	dir, path, err := stateDir(a.file)
	if err != nil {
		return nil, a.directoryError(err)
	}
	l, err := fallback.OpenQueue(dir, path)
	if err != nil {
		return nil, a.directoryError(err)
	}
	for {
		err := l.TryPermit(a.Queue)
		var held *fallback.LockedError
		switch {
		case !errors.As(err, &held):
			return l, a.directoryError(err)
		case held.Holders[0].Mode != fallback.Busy:
			a.out.WarnVerbose("the queue: " + held.Error())
			return nil, kernlock.ErrConflict
		case !a.deadline.IsZero() && time.Now().After(a.deadline):
			return nil, kernlock.ErrTimeout
		}
		// A process was stopped while it looked for a place. Nobody knows whether it gets one.
	}
}
