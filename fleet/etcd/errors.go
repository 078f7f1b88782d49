package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.org/flock/fleet/lease"
	"example.org/flock/internal/sys"
)

var errNewLeader = status.Error(codes.Unavailable, "etcd has a new leader")

// classify returns the error of an attempt as package lease wants it: a *lease.Unanswered if another attempt may have
// another answer, else one that stays the same however often one asks, with what to do about it.
func (s *store) classify(err error) error {
	var known *lease.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case s.mayTryAgain(err):
		why := describe(err)
		if s.link.Reached() {
			why, _, _ = strings.Cut(why, "\n") // nothing has to be changed
		}
		return &lease.Unanswered{Why: why}
	case sys.Is(err, lease.ErrLost, rpctypes.ErrLeaseNotFound):
		return lease.ErrLost
	case codeOf(err) == codes.Unavailable: // see isHopeless
		return lease.Misused("cannot connect to " + s.link.Server + ": " + describe(err))
	}
	text := "etcd refuses: " + describe(err)
	if s.jwt != "" && lacksUser(err) {
		text += "\nETCDCTL_AUTH_JWT_TOKEN is not valid any more: get a new one after each change of users or roles"
	} else if s.user == "" && errors.Is(err, rpctypes.ErrUserEmpty) {
		text += "\nset ETCDCTL_USER and its password"
	}
	isRefused := sys.Is(err, rpctypes.ErrAuthFailed, rpctypes.ErrUserNotFound)
	if lacksUser(err) || isRefused || codeOf(err) == codes.PermissionDenied {
		return lease.Denied(text) // the user, or what the user may do
	}
	return lease.Refused(text)
}

func isUnanswered(err error) bool {
	_, is := err.(*lease.Unanswered)
	return is
}

// lacksUser reports whether etcd does not know who asks, perhaps not any more.
func lacksUser(err error) bool {
	return sys.Is(err, rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision, rpctypes.ErrUserEmpty)
}

// hints say what to change where grpc's text has a sign of that. The refusals of one side are certain; the others can
// come from a server that is about to stop, too.
var (
	refusals = [][2]string{
		{"failed to verify certificate: ", "its certificate is refused: %s\nsee ETCDCTL_CACERT"},
		{"remote error: tls: ", "it refuses the certificate of this client, or its absence: %s\n" +
			"see ETCDCTL_CERT and ETCDCTL_KEY"},
		{"looked like an HTTP/1.1 header", "this is not etcd's port for clients\nthat is usually 2379"},
	}
	hints = append(refusals, [][2]string{
		{"etcdserver: permission denied", "etcdserver: permission denied\nsee flock-etcd(1), Rights in etcd"},
		{"database space exceeded", "etcdserver: mvcc: database space exceeded\nsee etcdctl alarm list"},
		{"authentication handshake failed: ", "%s\nif it does not speak TLS, write its address with http://"},
		{"error reading server preface: EOF",
			"it closes the connection\nif it speaks TLS, write its address with https://"},
		{"connection reset by peer", "it closes the connection\nif it speaks TLS, write its address with https://"},
		{"broken pipe",
			"it closes the connection\nif it wants a certificate of this client, see ETCDCTL_CERT and ETCDCTL_KEY"},
		{"error reading server preface: ", "it is connected, but does not answer"},
		{"connection is closing", "it is connected, but does not answer"}, // see authenticateAt
		{"Error while dialing: dial ", "%s"},
	}...)
)

// describe returns the text of an error as one line, without grpc's words around it, and perhaps a hint as a second.
func describe(err error) string {
	text := rpctypes.ErrorDesc(err)
	for _, h := range hints {
		if _, why, found := strings.Cut(text, h[0]); found {
			return strings.Replace(h[1], "%s", sys.Printable(strings.TrimSuffix(why, `"`)), 1)
		}
	}
	return sys.Printable(text)
}

// isHopeless reports whether no server can ever be connected with these variables.
func (s *store) isHopeless(err error) bool {
	isCertain := slices.ContainsFunc(refusals, func(h [2]string) bool { return strings.Contains(err.Error(), h[0]) })
	return isCertain && !s.link.Reached()
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
func (s *store) mayTryAgain(err error) bool {
	if lacksUser(err) {
		isOfCertificate := errors.Is(err, rpctypes.ErrAuthOldRevision) // which is read each time
		return s.jwt == "" && (s.user != "" || isOfCertificate)
	}
	switch codeOf(err) {
	case codes.Unavailable: // connections, and servers that stop
		return !s.isHopeless(err)
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.Internal:
		return true
	}
	if s, ok := status.FromError(err); ok && s.Code() == codes.Unknown {
		// What etcd has no code for: a leader that is not sure that it is one, a proposal dropped in an election.
		return true
	}
	return sys.Is(err, context.DeadlineExceeded, context.Canceled, rpctypes.ErrTooManyRequests,
		rpctypes.ErrNotLeader, rpctypes.ErrGRPCNotSupportedForLearner) // another server can
}
