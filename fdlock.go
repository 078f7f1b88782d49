package main

import (
	"errors"
	"time"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/early"
	"example.org/flock/internal/kernlock"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/output"
	"example.org/flock/internal/sys"
)

// openLockFile opens the lock file, or takes the descriptor that was passed.
func openLockFile(o *cli.Options) (*lockfile.File, error) {
	if o.FD >= 0 {
		f := lockfile.Descriptor(o.FD)
		if o.Permits > 0 {
			// The byte of a permit can be locked only by a descriptor that is open for writing.
			writable, err := f.Writable()
			switch {
			case err != nil:
				return nil, &fileError{locking, f.Name, err}
			case !writable:
				return nil, &fileError{lockingPermit, f.Name, sys.ErrInvalid}
			}
		}
		return f, nil
	}
	switch r := early.Result(); {
	case r.Failed == early.Opening && !sys.LacksPermission(r.Errno): // otherwise Open may know another way
		return nil, &fileError{opening, o.File, r.Errno}
	case r.Failed == early.Timing, r.Failed == early.Locking:
		return lockfile.Opened(o.File, r.Fd, r.Mode), nil
	}
	f, err := lockfile.Open(o.File, neededAccess(o.Op, o.Backend, o.Permits))
	switch {
	case err != nil:
		return nil, &fileError{opening, o.File, err}
	case o.Remove && f.IsDirectory():
		return nil, &cli.UsageError{Text: "--remove cannot be combined with a directory: " + o.File}
	}
	return f, nil
}

// neededAccess returns what a lock file must be open for.
func neededAccess(op kernlock.Op, backend cli.Backend, permits int) lockfile.Access {
	switch {
	case permits > 0:
		return lockfile.ReadWrite
	case backend == cli.ByFcntl && op == kernlock.Exclusive:
		return lockfile.Write // F_WRLCK needs a descriptor that is open for writing
	}
	return lockfile.Read
}

// A request says what is asked of a lock.
type request struct {
	op       kernlock.Op
	backend  cli.Backend
	span     kernlock.Range
	permits  int           // 0: none
	cooldown time.Duration // 0: none
	remove   bool          // the lock file, afterwards
	limit    kernlock.Limit
}

func newRequest(o *cli.Options, deadline time.Time) request {
	return request{o.Op, o.Backend, o.Range, o.Permits, o.Cooldown, o.Remove, kernlock.Limit{Nonblock: o.Nonblock, Deadline: deadline}}
}

var (
	errNoLocks   = errors.New("neither the system nor the filesystem has such locks")
	errSupervise = errors.New("the directory lock needs a process that becomes the command")
)

// acquire carries out the request. A lock with a cooldown is taken when the cooldown of the last holder is over, and begins
// the next one. It is not held while acquire waits for that.
func acquire(p *output.Printer, f *lockfile.File, r request, c contender) (release func(), err error) {
	switch {
	case r.remove:
		return lockNamed(p, f, r, c)
	case r.cooldown == 0:
		return lock(p, f, r, c)
	case r.op == kernlock.Unlock:
		if err := startCooldown(f, r.cooldown); err != nil {
			return nil, err
		}
		return lock(p, f, r, c)
	}
	for {
		// Before the lock, so that nobody holds it only to look at the time.
		if err := waitCooldown(p, f, r.limit, c.supervisor); err != nil {
			return nil, err
		}
		release, err := lock(p, f, r, c)
		if err != nil {
			return nil, err
		}
		_, left, err := cooldownLeft(f)
		if err == nil && left <= 0 {
			if err = startCooldown(f, r.cooldown); err == nil {
				return release, nil
			}
		}
		release()
		if err != nil {
			return nil, err
		}
	}
}

// lockNamed takes the lock of a file that others remove: when it has the lock, the name must still be that of the file which
// is open. Otherwise the next one would make a new file and lock that.
func lockNamed(p *output.Printer, f *lockfile.File, r request, c contender) (release func(), err error) {
	for {
		release, err = lock(p, f, r, c)
		_, failed := err.(*fileError) // the directory lock cannot follow a link whose file is gone
		if err != nil && !failed || f.IsNamed() {
			return release, err
		}
		if err == nil {
			release()
		}
		if err := f.OpenAgain(); err != nil {
			return nil, &fileError{opening, f.Name, err}
		}
	}
}

// lock carries out the request for c, and returns a function that releases the lock again. The error is
// kernlock.ErrConflict or ErrTimeout if another process holds the lock, and errSupervise if the directory lock must be taken
// by a flock that becomes the command.
func lock(p *output.Printer, f *lockfile.File, r request, c contender) (release func(), err error) {
	if r.backend != cli.Directory {
		release, err = lockNative(p, f, r, c)
		if r.remove {
			release = func() {} // to close the file is enough: a child of the command that has it open keeps the lock
		}
		if err != errNoLocks {
			return release, err
		}
	}
	if r.op != kernlock.Unlock && c.needsSupervisor() {
		return nil, errSupervise
	}
	return lockDirectory(p, f, r, c)
}

// lockNative carries out the request by the first way of locking that the backend allows and that the kernel and the
// filesystem have. The error is errNoLocks if they have none and the directory lock is next.
//
// All contenders must come to the same choice. So only those answers of the lock call itself move it on which every
// contender gets alike.
func lockNative(p *output.Printer, f *lockfile.File, r request, c contender) (release func(), err error) {
	if r.permits > 0 {
		err := kernlock.LockPermit(f.FD, r.permits, r.backend == cli.ByFcntl, r.limit)
		if kernlock.IsAbsentRecord(err) && r.backend == cli.Auto {
			return nil, errNoLocks
		}
		return func() { kernlock.ReleasePermit(f.FD) }, lockError(f, err)
	}
	if !f.ByName || r.op == kernlock.Unlock {
		freePermit(f, r, c)
	}

	if r.backend != cli.ByFcntl {
		release, err = attempt(kernlock.Flock, f, r)
		if r.backend == cli.ByFlock || !kernlock.IsAbsent(err) {
			return release, lockError(f, err)
		}
		if kernlock.OwnedByProcess {
			return nil, errNoLocks
		}
	}
	release, second := attempt(kernlock.Record(r.span), f, r)
	if r.backend != cli.ByFcntl {
		switch {
		case kernlock.IsAbsentRecord(second) && r.backend == cli.Auto:
			return nil, errNoLocks
		case kernlock.IsAbsentRecord(second):
			return nil, lockError(f, err)
		}
		p.WarnVerbose("using fcntl(2) locks")
	}
	return release, lockError(f, second)
}

// attempt makes a lock call. If that may help, it makes the call again with the file open for writing.
func attempt(call kernlock.Call, f *lockfile.File, r request) (release func(), err error) {
	if err = earlyAnswer(); err == nil {
		err = kernlock.Acquire(call, f.FD, r.op, r.limit)
	}
	if r.op == kernlock.Exclusive && f.CanReopen() && kernlock.NeedsWriting(err) {
		if err := f.CheckReopen(); err != nil {
			return nil, &fileError{locking, f.Name, err}
		}
		if err := f.Reopen(); err != nil {
			return nil, &fileError{opening, f.Name, err}
		}
		err = kernlock.Acquire(call, f.FD, r.op, r.limit)
	}
	return func() { call(f.FD, kernlock.Unlock, false) }, err
}

// earlyAnswer returns the answer of the lock call that the run without the Go runtime made, once; nil if it made none.
func earlyAnswer() error {
	defer early.Forget()
	switch r := early.Result(); {
	case r.Failed == early.Timing:
		return &kernlock.TimerError{Err: r.Errno}
	case r.Failed == early.Locking && r.Errno != 0:
		return r.Errno
	}
	return nil
}

// lockError adds to the answer of a lock call which file it is about.
func lockError(f *lockfile.File, err error) error {
	if kernlock.IsOwn(err) {
		return &fileError{locking, f.Name, err}
	}
	return err
}

// freePermit gives back the permit that a descriptor may have: a byte or, where the kernel has no byte locks, a permit of
// the directory lock.
func freePermit(f *lockfile.File, r request, c contender) {
	err := kernlock.FreePermit(f.FD)
	if kernlock.IsAbsentRecord(err) && r.backend == cli.Auto && !f.ByName {
		if l, err := openDirectoryLock(f, kernlock.Unlock, c); err == nil {
			l.Unlock()
		}
	}
}

// waitCooldown waits for the end of the cooldown. It looks again and again, because somebody may move the end.
func waitCooldown(p *output.Printer, f *lockfile.File, limit kernlock.Limit, s supervisor) error {
	for {
		end, left, err := cooldownLeft(f)
		switch {
		case err != nil || left <= 0:
			return err
		case s.isGone():
			return kernlock.ErrConflict
		}
		if err := limit.Wait(min(left, 100*time.Millisecond)); err != nil {
			p.WarnVerbose("cooldown until " + output.FormatClock(end))
			return err
		}
	}
}

// cooldownLeft returns when the cooldown ends, which is the modification time of the file, and the time until then.
func cooldownLeft(f *lockfile.File) (end time.Time, left time.Duration, err error) {
	end, err = f.ModTime()
	if err != nil {
		return end, 0, &fileError{settingCooldown, f.Name, err}
	}
	return end, time.Until(end), nil
}

// startCooldown sets the end of the cooldown, counted from now.
func startCooldown(f *lockfile.File, cooldown time.Duration) error {
	if err := f.SetModTime(time.Now().Add(cooldown)); err != nil {
		return &fileError{settingCooldown, f.Name, err}
	}
	return nil
}
