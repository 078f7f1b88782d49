package main

import (
	"errors"
	"syscall"
	"time"

	"example.org/flock/fallback"
)

// The directory lock, for where the kernel has none: package fallback keeps
// it, this file says for whom.
//
// A lock around a command belongs to the command, whose process flock must
// therefore be when it takes the lock; then it becomes the command. So flock
// starts itself once more (supervise.go), and that one works as with
// --no-fork. A lock by descriptor number belongs to the caller (owner.go).

// lockDirectory does what o says to the directory lock of f.
func lockDirectory(p *printer, f *lockFile, o *options) error {
	if o.op == unlock && f.named {
		return nil // just opened, it holds no lock
	}
	l, err := openDirectoryLock(f, o)
	if err == nil {
		if o.verbose {
			p.warn("using the directory lock " + l.Dir())
		}
		f.release = func() { l.Unlock() }
		err = useDirectoryLock(p, l, o)
	}
	if errors.Is(err, fallback.ErrQuit) || err == nil && o.abandoned() {
		l.Unlock() // whoever wanted the command is gone
		return errConflict
	}
	switch held := err.(type) {
	case nil:
		return nil
	case *fallback.ConflictError:
		if o.verbose {
			p.warn(held.Error())
		}
		if o.nonblock {
			return errConflict
		}
		return errTimeout
	}
	if badDescriptor(err) {
		return &stepError{locking, f.name, err}
	}
	return &stepError{keeping, f.name, err}
}

// openDirectoryLock returns the directory lock of f for its future owner.
func openDirectoryLock(f *lockFile, o *options) (*fallback.Lock, error) {
	base, _ := getenv("FLOCK_DIR")
	path, err := f.name, error(nil)
	if !f.named {
		path, err = descriptorPath(f.fd)
	}
	if err != nil {
		return nil, err
	}
	dir, err := fallback.StateDir(path, base)
	if err != nil && f.named { // the working directory may have been removed
		if path, err = descriptorPath(f.fd); err == nil {
			dir, err = fallback.StateDir(path, base)
		}
	}
	if err != nil {
		return nil, err
	}
	owner, err := ownerFor(f, o)
	if err != nil {
		return nil, err
	}
	l := fallback.New(dir, owner)
	l.Mine = func(o fallback.Owner) bool {
		return !f.named && tagOf(o).sharedBy(o.PID, f.fd)
	}
	l.Gone = func(o fallback.Owner) bool { return tagOf(o).gone(o.PID) }
	l.Kept = func(o fallback.Owner) bool { return tagOf(o).kept() }
	l.Quit, l.Parent = o.abandoned, o.supervisor
	l.Signs = signsOf
	return l, nil
}

func useDirectoryLock(p *printer, l *fallback.Lock, o *options) error {
	request := fallback.Request{Mode: fallback.Exclusive, Permits: o.permits}
	switch {
	case o.permits > 0:
		request.Mode = fallback.Permit
	case o.op == shared:
		request.Mode = fallback.Shared
	}
	switch {
	case o.op == unlock:
		return l.Unlock()
	case o.nonblock:
		return l.TryLock(request)
	}
	deadline := time.Time{}
	if o.limited {
		outlastAlarm() // with a kernel lock it would not end the wait either
		deadline = o.deadline
	}
	// A holder that nobody here can find dead may be waited for in vain, so that it is to be said soon.
	l.Notice = func(held *fallback.ConflictError) { p.warn("waiting: " + held.Error()) }
	return l.Lock(request, deadline)
}

// hadLock reports whether process pid, dead by now, died with the lock.
func hadLock(l *fallback.Lock, pid int) bool {
	holders, _ := l.Holders()
	for _, h := range holders {
		if h.PID == pid && !h.Waiting {
			return true
		}
	}
	return false
}

// abandoned reports whether our supervisor is gone, and with it whoever wanted
// the command.
func (o *options) abandoned() bool { return o.supervisor != 0 && syscall.Getppid() != o.supervisor }
