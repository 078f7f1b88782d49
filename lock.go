//go:build unix

package main

import (
	"errors"
	"syscall"
)

var (
	errConflict = errors.New("somebody else holds the lock")
	errTimeout  = errors.New("somebody else still holds the lock")
)

// lockCall asks the kernel for a lock once, or asks and waits.
type lockCall func(f *lockFile, o *options, wait bool) error

// lock does what o says to the lock on f: the error is errConflict or
// errTimeout if somebody else has it.
func lock(f *lockFile, o *options) error {
	call := lockCall(flockCall)
	if o.fcntl {
		call = ofdCall
	}
	err := attempt(call, f, o)
	if (err == syscall.EBADF || err == syscall.EIO) && f.reopen() {
		err = attempt(call, f, o)
	}
	if err == nil || err == errConflict || err == errTimeout {
		return err
	}
	return &stepError{locking, f.name, err}
}

// attempt asks once, waits for ever, or waits for a limited time.
func attempt(call lockCall, f *lockFile, o *options) error {
	if o.limited && !o.nonblock {
		return attemptWithin(call, f, o)
	}
	for {
		err := call(f, o, !o.nonblock)
		if o.nonblock && (err == syscall.EAGAIN || err == syscall.EACCES) {
			return errConflict
		}
		if err != syscall.EINTR {
			return err
		}
	}
}
