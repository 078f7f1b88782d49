//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/output"
	"example.org/flock/internal/sys"
	"example.org/flock/lease"
)

var errNewLeader = errors.New("etcd has a new leader")

const silent = "it is connected, but does not answer"

// reason says why there is no answer.
func (s *store) reason() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return "no answer"
	}
	text := describe(s.last)
	if s.reached.Load() {
		text, _, _ = strings.Cut(text, ": if it ") // nothing has to be changed
	}
	return text
}

// unreachable returns the error for a context that has ended before etcd has answered. Where etcd answers, it is the lock that
// could not be had in time.
func (s *store) unreachable(ctx context.Context) error {
	if context.Cause(ctx) == lease.ErrTimeout && s.reached.Load() && !s.isAway.Load() {
		return lease.ErrTimeout
	}
	return &lease.Error{Status: output.ExTempFail, Text: "cannot reach etcd at " + s.addresses() + " in time: " + s.reason()}
}

// tooSlow returns the error for an etcd that takes so long to answer that a lease has ended by then.
func (s *store) tooSlow() error {
	return &lease.Error{Status: output.ExTempFail, Text: fmt.Sprintf("etcd at %s answers too slowly for leases of %d s: see FLOCK_ETCD_TTL", s.addresses(), s.ttl)}
}

// finalError returns the error of an answer that stays the same however often one asks, and what to do about it.
func (s *store) finalError(err error) error {
	var usage *cli.UsageError
	switch {
	case err == nil || errors.As(err, &usage):
		return err
	case errors.Is(err, lease.ErrLost) || errors.Is(err, rpctypes.ErrLeaseNotFound):
		return lease.ErrLost
	}
	r := &lease.Error{Status: output.ExDataErr, Text: "etcd refuses: " + describe(err), Err: err}
	if lacksUser(err) || sys.Is(err, rpctypes.ErrAuthFailed, rpctypes.ErrUserNotFound) || codeOf(err) == codes.PermissionDenied {
		r.Status = output.ExNoInput // it refuses the user, or what the user may do
	}
	if s.jwt != "" && lacksUser(err) {
		r.Text += " (ETCDCTL_AUTH_JWT_TOKEN is not valid, or not any more: it ends at each change of users and roles)"
	} else if s.user == "" && errors.Is(err, rpctypes.ErrUserEmpty) {
		r.Text += " (set ETCDCTL_USER and its password)"
	}
	return r
}

// lacksUser reports whether etcd does not know who asks, perhaps not any more.
func lacksUser(err error) bool {
	return sys.Is(err, rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision, rpctypes.ErrUserEmpty)
}

// hints say what to change where grpc's text has a sign of that. A refusal of one side is certain; the others can come from a
// server that is about to stop, too.
var hints = []struct {
	sign, says string
	certain    bool
}{
	{"failed to verify certificate: ", "its certificate is refused: %s: see ETCDCTL_CACERT", true},
	{"remote error: tls: ", "it refuses the certificate of this client, or that there is none: %s: see ETCDCTL_CERT and ETCDCTL_KEY", true},
	{"looked like an HTTP/1.1 header", "this is not etcd's port for clients (usually 2379)", true},
	{"authentication handshake failed: ", "%s: if it does not speak TLS, write its address with http://", false},
	{"error reading server preface: EOF", "it closes the connection: if it speaks TLS, write its address with https://", false},
	{"connection reset by peer", "it closes the connection: if it speaks TLS, write its address with https://", false},
	{"broken pipe", "it closes the connection: if it wants a certificate of this client, see ETCDCTL_CERT and ETCDCTL_KEY", false},
	{"error reading server preface: ", silent, false},
}

// describe returns the text of an error as one line, without grpc's words around it.
func describe(err error) string {
	text := err.Error()
	if s, ok := status.FromError(err); ok {
		text = s.Message()
	}
	for _, h := range hints {
		if _, why, found := strings.Cut(text, h.sign); found {
			return sys.Printable(strings.Replace(h.says, "%s", strings.TrimSuffix(why, `"`), 1))
		}
	}
	if _, dial, found := strings.Cut(text, "Error while dialing: dial "); found {
		text = strings.TrimSuffix(dial[strings.LastIndex(dial, ": ")+2:], `"`) // without the address, which was said
	}
	return sys.Printable(text)
}

// hopeless returns a usage error if no server can ever be connected with these variables, or else err.
func (s *store) hopeless(err error) error {
	for _, h := range hints {
		if h.certain && !s.reached.Load() && codeOf(err) == codes.Unavailable && strings.Contains(err.Error(), h.sign) {
			return &cli.UsageError{Text: "cannot connect to etcd at " + s.addresses() + ": " + describe(err)}
		}
	}
	return err
}

// codeOf returns the code of an answer of etcd.
func codeOf(err error) codes.Code {
	var known rpctypes.EtcdError
	if errors.As(err, &known) {
		return known.Code()
	}
	return status.Code(err)
}

// mayTryAgain reports whether another attempt may have another answer. All errors for which that is so are listed.
func mayTryAgain(err error) bool {
	switch codeOf(err) {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.Internal:
		return true // connections, and servers that stop
	}
	if s, ok := status.FromError(err); ok && s.Code() == codes.Unknown {
		return true // what etcd has no code for: a leader that is not sure that it is one, a proposal dropped in an election
	}
	return sys.Is(err, errNewLeader, context.DeadlineExceeded, context.Canceled, rpctypes.ErrTooManyRequests,
		rpctypes.ErrNotLeader, rpctypes.ErrGRPCNotSupportedForLearner) // another server can
}
