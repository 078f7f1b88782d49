//go:build unix

package main

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/output"
	"example.org/flock/internal/sys"
)

var (
	errLost      = errors.New("etcd has dropped the lease or the key")
	errNewLeader = errors.New("etcd has a new leader")
)

// An unreachableError says that etcd did not answer in time.
type unreachableError struct{ text string }

func (e *unreachableError) Error() string { return e.text }

// unreachable returns the error that says which member has answered what.
func (s *store) unreachable() error {
	text := "cannot reach etcd at " + s.addresses() + " in time: "
	for i, m := range s.members {
		if i > 0 {
			text += "; "
		}
		if len(s.members) > 1 {
			text += sys.Printable(m.endpoint) + ": "
		}
		text += m.excuse()
	}
	return &unreachableError{text}
}

// tooSlow returns the error for an etcd that takes so long to answer that a lease has ended by then.
func (s *store) tooSlow() error {
	return &unreachableError{"etcd at " + s.addresses() + " answers too slowly for leases of " + strconv.FormatInt(s.ttl, 10) +
		" s: see FLOCK_ETCD_TTL"}
}

// A storeError is an answer of etcd that stays the same however often one asks.
type storeError struct {
	err  error
	hint string // what to do, in brackets; may be empty
}

func (e *storeError) Error() string { return "etcd refuses: " + describe(e.err) + e.hint }
func (e *storeError) Unwrap() error { return e.err }

// finalError returns the error of an answer that is final.
func finalError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errLost) || errors.Is(err, rpctypes.ErrLeaseNotFound):
		return errLost
	}
	return &storeError{err: err}
}

const notForClients = "this is not etcd's port for clients (usually 2379)"

// describe returns the text of an error as one line, without grpc's words around it.
func describe(err error) string {
	text := err.Error()
	if s, ok := status.FromError(err); ok {
		text = s.Message()
	}
	if inner, wrapped := strings.CutPrefix(text, `connection error: desc = "`); wrapped {
		text = strings.TrimSuffix(inner, `"`)
	}
	text = strings.TrimPrefix(strings.TrimPrefix(text, "transport: "), "Error while dialing: ")
	if strings.HasPrefix(text, "dial ") {
		text = text[strings.LastIndex(text, ": ")+2:] // without the address, which was said
	}
	switch {
	case strings.HasPrefix(text, "error reading server preface: http2: "):
		text = notForClients
	case strings.HasPrefix(text, "error reading server preface: "):
		text = "it is connected, but does not answer"
	}
	return sys.Printable(text)
}

// code returns the code of an answer of etcd.
func code(err error) codes.Code {
	var known rpctypes.EtcdError
	if errors.As(err, &known) {
		return known.Code()
	}
	return status.Code(err)
}

// mayTryAgain reports whether another attempt may have another answer. All errors for which that is so are listed.
func mayTryAgain(err error) bool {
	var usage *cli.UsageError
	if errors.As(err, &usage) {
		return true // another member may be reached
	}
	switch code(err) {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.Internal:
		return true // connections, and members that stop
	}
	if s, ok := status.FromError(err); ok && s.Code() == codes.Unknown {
		return true // what etcd has no code for: a leader that is not sure that it is one, a proposal dropped in an election
	}
	return sys.Is(err, errNewLeader, context.DeadlineExceeded, context.Canceled, rpctypes.ErrTooManyRequests,
		rpctypes.ErrNotLeader, rpctypes.ErrGRPCNotSupportedForLearner) // another member can
}

// isBadToken reports whether etcd wants another token.
func isBadToken(err error) bool {
	return sys.Is(err, rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision, rpctypes.ErrUserEmpty)
}

// isRefusal reports whether etcd refuses the user, or what the user may do.
func isRefusal(err error) bool {
	return sys.Is(err, rpctypes.ErrUserEmpty, rpctypes.ErrAuthFailed, rpctypes.ErrAuthOldRevision, rpctypes.ErrUserNotFound) ||
		code(err) == codes.PermissionDenied || code(err) == codes.Unauthenticated
}

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
	case isRefusal(err):
		return output.ExNoInput
	case errors.As(err, &store):
		return output.ExDataErr
	}
	return output.ExOSErr
}
