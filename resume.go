package main

import (
	"time"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/command"
	"example.org/flock/internal/early"
	"example.org/flock/internal/kernlock"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/sys"
)

// A beginning is what the run without the Go runtime has done before it gave up: see package early. The zero beginning is
// nothing.
type beginning struct {
	// failed is why the wait could not be limited, or the command could not be started or waited for. If it could not be
	// executed, this process is the child.
	failed     error
	openFailed error          // why the lock file could not be opened
	file       *lockfile.File // nil: not open
	began      time.Time      // when the wait with a limit began, now if it has not
	answer     error          // of the first lock call, nil: it was not made
}

// resume returns what has been done.
func resume(o *cli.Options) (b beginning) {
	r := early.Result()
	b.began = time.Now().Add(-time.Duration(r.Waited))
	switch r.Failed {
	case early.Opening:
		b.openFailed = r.Errno
	case early.Timing:
		b.failed = &kernlock.TimerError{Err: r.Errno}
	case early.Locking:
		if r.Errno != 0 {
			b.answer = r.Errno
		}
	case early.Forking:
		b.failed = &command.ForkError{Err: r.Errno}
	case early.Executing:
		b.failed = &command.StartError{Name: o.Command[0], Err: r.Errno}
	case early.Waiting:
		b.failed = &command.WaitError{Err: r.Errno}
	}
	if o.FD < 0 && r.Failed == early.Locking {
		b.file = lockfile.Opened(o.File, r.Fd, neededAccess(o))
	}
	return b
}

// openLockFile opens the lock file, unless that has been done, or takes the descriptor that was passed.
func (b beginning) openLockFile(o *cli.Options) (*lockfile.File, error) {
	switch {
	case b.file != nil:
		return b.file, nil
	case b.openFailed != nil && !sys.LacksPermission(b.openFailed): // otherwise Open may know another way
		return nil, &fileError{opening, o.File, b.openFailed}
	case o.FD >= 0:
		f := lockfile.Descriptor(o.FD)
		if o.Permits > 0 {
			// The byte of a permit can be locked only by a descriptor that is open for writing.
			writable, err := f.Writable()
			switch {
			case err != nil:
				return nil, &fileError{locking, f.Name, err}
			case !writable:
				return nil, &fileError{locking, f.Name, errPermitReadOnly}
			}
		}
		return f, nil
	}
	if o.Cooldown > 0 {
		lockfile.MakeNow(o.File)
	}
	f, err := lockfile.Open(o.File, neededAccess(o))
	switch {
	case err != nil:
		return nil, &fileError{opening, o.File, err}
	case o.Remove && f.IsDirectory():
		return nil, &cli.UsageError{Text: "--remove cannot be combined with a directory: " + o.File}
	}
	return f, nil
}

// neededAccess returns what a lock file must be open for.
func neededAccess(o *cli.Options) lockfile.Access {
	switch {
	case o.Permits > 0:
		return lockfile.ReadWrite
	case o.Backend == cli.ByFcntl && o.Op == kernlock.Exclusive:
		return lockfile.Write // F_WRLCK needs a descriptor that is open for writing
	}
	return lockfile.Read
}
