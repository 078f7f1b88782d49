package main

import (
	"errors"
	"syscall"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/locks"
)

// openLockFile opens the lock file, or takes the descriptor that was passed.
func openLockFile(o *cli.Options) (*lockfile.File, error) {
	if o.FD >= 0 {
		return passedDescriptor(o)
	}
	f, err := lockfile.Open(o.File, o.Access(o.Op))
	switch {
	case err != nil:
		return nil, openingError(o, err)
	case o.Remove && f.IsDirectory():
		return nil, failure.Usage("--remove cannot be combined with a directory: " + o.File)
	}
	return f, nil
}

// openingError returns the error of a lock file that cannot be opened for what the options need.
func openingError(o *cli.Options, err error) error {
	failed := failure.Opening(o.File, err)
	if o.Permits > 0 && errors.Is(err, syscall.EISDIR) {
		refused := locks.NotForDirectories("--permits", o.File, locks.OrByDirectory, err)
		failed.Text, failed.Hint = refused.Text, refused.Hint
	}
	if hint := writingHint(o, err); hint != "" {
		failed.Hint = hint
	}
	return failed
}

// writingHint is the hint for a program that the lock file keeps from being executed, or that keeps the lock file from
// being opened, because it is open for writing; "" if it is not, or err has another cause.
func writingHint(o *cli.Options, err error) string {
	what := "--permits"
	access := o.Access(o.Op)
	if access == lockfile.Write {
		what = "an exclusive lock of fcntl(2)"
	}
	if access == lockfile.Read || !errors.Is(err, syscall.ETXTBSY) {
		return ""
	}
	return what + " must open the lock file for writing, which fails while it is executed: " +
		"use a separate lock file, in a script \"$0.lock\""
}

var errPermitReadOnly = errors.New("--permits needs a descriptor that is open for writing")

// passedDescriptor returns the descriptor that was passed by number.
func passedDescriptor(o *cli.Options) (*lockfile.File, error) {
	f := lockfile.Descriptor(o.FD)
	if o.Permits > 0 && o.Backend != cli.Directory {
		// The byte of a permit can be locked only by a descriptor that is open for writing.
		writable, err := f.Writable()
		switch {
		case err != nil:
			return nil, locks.FileError(f, err)
		case !writable && f.IsDirectory():
			return nil, locks.NotForDirectories("--permits", f.Name, locks.OrByDirectory, errPermitReadOnly)
		case !writable:
			failed := locks.FileError(f, errPermitReadOnly)
			failed.Hint = "open it as " + f.Name + ">>FILE"
			return nil, failed
		}
	}
	return f, nil
}
