//go:build unix

package main

import (
	"errors"

	"google.golang.org/grpc/codes"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/kernlock"
	"example.org/flock/internal/output"
)

// The exit statuses, named as in sysexits.h. Those of flock, and one that only a lock far away needs.
const (
	exUsage       = 64
	exDataErr     = 65
	exNoInput     = 66
	exUnavailable = 69
	exOSErr       = 71
	exTempFail    = 75
)

// fail reports an error and returns its exit status.
func fail(p *output.Printer, err error) int {
	p.WarnError(err)
	var usage *cli.UsageError
	var unreachable *unreachableError
	var store *storeError
	switch {
	case errors.As(err, &usage):
		return exUsage
	case errors.As(err, &unreachable):
		return exTempFail
	case errors.As(err, &store):
		switch code(store.err) {
		case codes.PermissionDenied, codes.Unauthenticated, codes.InvalidArgument, codes.FailedPrecondition:
			return exNoInput // the user, or what the user may do
		}
		return exDataErr
	}
	return exOSErr
}

// refuse returns the exit status where there is no lock.
func refuse(p *output.Printer, s *store, err error, conflictExit int) int {
	switch {
	case errors.Is(err, kernlock.ErrConflict):
		p.WarnVerbose("failed to get lock")
	case errors.Is(err, kernlock.ErrTimeout):
		p.WarnVerbose("timeout while waiting to get lock")
	default:
		return fail(p, err)
	}
	return conflictExit
}
