package main

import (
	"errors"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/output"
	"example.org/flock/internal/sys"
)

// What the lock file is not fit for.
var (
	errPermitReadOnly  = errors.New("--permits needs a descriptor that is open for writing")
	errPermitOnNetwork = errors.New("on NFS --permits needs --backend directory or --backend fcntl, for all who use the file; " +
		"on SMB it cannot be had")
	errQueueOnNetwork = errors.New("on NFS --queue needs --backend directory for all who use the file, and on SMB it cannot be had")
)

// queueError returns the error of a file that has no places for those who wait.
func queueError(file string, err error) error {
	return failure.New(output.ExDataErr, file+": --queue needs flock(2), byte locks, and a writable file that is not a program (or, "+
		"for all who use it, --backend directory)", err)
}

// listingError returns the error of a file whose holders are not known.
func listingError(file string, err error) error {
	status := output.ExUnavailable
	if sys.LacksResources(err) {
		status = output.ExOSErr
	}
	return &failure.Error{Status: status, Text: "cannot tell who holds " + file + ": " + sys.Printable(err.Error()), Cause: err}
}

// A refusal is a lock that another process holds, with what --verbose says about that.
type refusal struct {
	err error // kernlock.ErrConflict or ErrTimeout
	why string
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }
