//go:build linux && (amd64 || arm64)

package main

import (
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/early"
)

// What the run without the Go runtime, which gives up to the ordinary program
// whenever it is not certain, has done by then is not done again.

// earlyFailure returns why the command could not be executed, or not be waited
// for, if that was tried. With a command that could not be executed, this is
// the child.
func earlyFailure(o *options) error {
	switch r := early.Result(); r.Failed {
	case early.Forking:
		return &stepError{forking, o.command[0], r.Errno}
	case early.Executing:
		return &stepError{executing, o.command[0], r.Errno}
	case early.Waiting:
		return &stepError{waiting, "", r.Errno}
	}
	return nil
}

// begin returns the time when the wait for the lock began.
func begin() time.Time {
	started := time.Now()
	if r := early.Result(); r.Started != 0 {
		var now unix.Timespec
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) == nil {
			started = started.Add(time.Duration(r.Started - now.Nano()))
		}
	}
	return started
}

// openedEarly takes over the open lock file, or the error of opening it.
func (f *lockFile) openedEarly() (done bool, err error) {
	r := early.Result()
	switch r.Failed {
	case early.Opening:
		return true, &stepError{opening, f.name, r.Errno}
	case early.Timing, early.Locking:
		f.fd, f.mode = r.Fd, r.Mode
		return true, nil
	}
	return false, nil
}

// lockedEarly returns the error of the first lock call, or of what came before
// it, if that was made early; else nil.
func (f *lockFile) lockedEarly() error {
	if f.asked {
		return nil
	}
	f.asked = true
	switch r := early.Result(); r.Failed {
	case early.Timing:
		return &stepError{timing, "", r.Errno}
	case early.Locking:
		if r.Errno != 0 {
			return r.Errno
		}
	}
	return nil
}
