//go:build unix

package main

import (
	"errors"

	"google.golang.org/grpc/codes"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/output"
)

// fail reports an error and returns its exit status.
func fail(p *output.Printer, err error) int {
	p.WarnError(err)
	var usage *cli.UsageError
	var unreachable *unreachableError
	var store *storeError
	switch {
	case errors.As(err, &usage):
		return output.ExUsage
	case errors.As(err, &unreachable):
		return output.ExTempFail
	case errors.As(err, &store):
		switch code(store.err) {
		case codes.PermissionDenied, codes.Unauthenticated, codes.InvalidArgument, codes.FailedPrecondition:
			return output.ExNoInput // the user, or what the user may do
		}
		return output.ExDataErr
	}
	return output.ExOSErr
}
