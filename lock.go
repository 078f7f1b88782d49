//go:build unix

package main

import (
	"syscall"
)

// lockCall asks the kernel for a lock once, or asks and waits.
type lockCall func(f *lockFile, o *options, wait bool) error

// lockNative does what o says to the kernel's lock on f, by the first of the
// ways that o allows which this system and the filesystem have. The error is
// errNoLocks if there is no such way, and the directory lock is one.
//
// All contenders must come to the same choice, so that only those answers of
// the lock call itself move it on that every contender gets alike.
func lockNative(p *printer, f *lockFile, o *options) error {
	f.release = func() { unlockNative(f, o) }
	if o.permits > 0 {
		return lockPermit(f, o)
	}
	if !f.named || o.op == unlock {
		freePermit(f, o)
	}
	err := error(syscall.ENOSYS)
	if o.backend != byFcntl {
		err = asked(flockCall, f, o)
		if o.backend == byFlock || !absent(err) {
			return f.lockError(err)
		}
	}
	second := asked(ofdCall, f, o)
	moved := o.backend == auto || o.backend == native
	switch {
	case moved && (second == syscall.EINVAL || absent(second)): // EINVAL: before Linux 3.15
		if o.backend == auto {
			return errNoLocks
		}
		return f.lockError(err)
	case o.verbose && !o.fcntl:
		p.warn("using fcntl(2) locks")
	}
	return f.lockError(second)
}

// unlockNative undoes lockNative.
func unlockNative(f *lockFile, o *options) {
	undo := *o
	undo.op, undo.permits, undo.verbose = unlock, 0, false
	lockNative(&printer{}, f, &undo)
}

// asked makes the lock call as o says, and once more if that may help. Of the
// errors it returns, the lock call's own are the bare errnos.
func asked(call lockCall, f *lockFile, o *options) error {
	err := f.lockedEarly()
	if err == nil {
		err = attempt(call, f, o)
	}
	if (err == syscall.EBADF || err == syscall.EIO) && o.op == exclusive && f.named && f.mode != syscall.O_RDWR {
		if err := f.reopen(); err != nil {
			return err
		}
		return attempt(call, f, o)
	}
	return err
}

// lockError says of a lock call's own error what it was about.
func (f *lockFile) lockError(err error) error {
	if errno, own := err.(syscall.Errno); own {
		return &stepError{locking, f.name, errno}
	}
	return err
}

// attempt asks once, waits for ever, or waits for a limited time.
func attempt(call lockCall, f *lockFile, o *options) error {
	if o.limited && !o.nonblock {
		return attemptWithin(call, f, o)
	}
	if o.nonblock {
		return attemptOnce(call, f, o, errConflict)
	}
	for {
		if err := call(f, o, true); err != syscall.EINTR {
			return err
		}
	}
}

// attemptOnce asks without waiting, and answers held if somebody else has it.
func attemptOnce(call lockCall, f *lockFile, o *options, held error) error {
	for {
		switch err := call(f, o, false); err {
		case syscall.EINTR:
		case syscall.EAGAIN, syscall.EACCES:
			return held
		default:
			return err
		}
	}
}

// absent reports whether err is the lock call's own answer that the system or
// the filesystem does not have such locks. ENOLCK is no such answer: it may be
// the trouble of this client, or of this moment.
func absent(err error) bool {
	return err == syscall.ENOSYS || err == syscall.EOPNOTSUPP || err == syscall.ENOTSUP
}
