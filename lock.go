//go:build unix

package main

import (
	"syscall"
)

// lockCall asks the kernel for a lock once, or asks and waits.
type lockCall func(f *lockFile, o *options, wait bool) error

// lockNative does what o says to the kernel's lock on f, by the first of the
// ways that o allows which this system and the filesystem have. The error is
// errConflict or errTimeout if somebody else has the lock, and errNoLocks if
// there is no such way.
//
// All contenders must come to the same choice, so that only those answers move
// it on that every contender gets alike.
func lockNative(p *printer, f *lockFile, o *options) error {
	err := error(syscall.ENOSYS)
	if o.backend != byFcntl {
		err = asked(flockCall, f, o)
		if o.backend == byFlock || !absent(err, f) {
			return err
		}
	}
	second := asked(ofdCall, f, o)
	tolerant := o.backend == auto || o.backend == native
	switch {
	case !tolerant:
		return second
	case is(second, syscall.EINVAL) || absent(second, f): // EINVAL: before Linux 3.15
		if o.backend == auto {
			return errNoLocks
		}
		return err
	case o.verbose:
		p.warn("using fcntl(2) locks")
	}
	return second
}

// asked makes the lock call as o says, and once more if that may help.
func asked(call lockCall, f *lockFile, o *options) error {
	err := attempt(call, f, o)
	if (err == syscall.EBADF || err == syscall.EIO) && o.op == exclusive && f.named && f.mode != syscall.O_RDWR {
		if err = f.reopen(); err == nil {
			err = attempt(call, f, o)
		}
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

// absent reports whether err says that the system or the filesystem does not
// have such locks. ENOLCK does so on a network filesystem, that there is no
// lock service; elsewhere the kernel is out of memory for a moment.
func absent(err error, f *lockFile) bool {
	return is(err, syscall.ENOSYS, syscall.EOPNOTSUPP, syscall.ENOTSUP) ||
		is(err, syscall.ENOLCK) && onNetwork(f.fd)
}
