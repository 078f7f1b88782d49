//go:build unix

package main

import (
	"errors"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestMayTryAgain has answers of etcd as its server and its client make them.
func TestMayTryAgain(t *testing.T) {
	for _, c := range []struct {
		err   error
		again bool
	}{
		{status.Error(codes.Unknown, "not a primary lessor"), true},
		{status.Error(codes.Unknown, "raft proposal dropped"), true},
		{rpctypes.Error(rpctypes.ErrGRPCNoLeader), true},
		{rpctypes.ErrTooManyRequests, true},
		{rpctypes.Error(rpctypes.ErrGRPCNotLeader), true},
		{rpctypes.Error(rpctypes.ErrGRPCTimeout), true},
		{rpctypes.Error(rpctypes.ErrGRPCLeaseTTLTooLarge), false},
		{rpctypes.Error(rpctypes.ErrGRPCLeaseNotFound), false},
		{rpctypes.Error(rpctypes.ErrGRPCPermissionDenied), false},
		{rpctypes.Error(rpctypes.ErrGRPCRequestTooLarge), false},
		{rpctypes.Error(rpctypes.ErrGRPCNoSpace), false},
		{errLost, false},
		{errNewLeader, true},
		{errors.New("something else"), false},
	} {
		if again := mayTryAgain(c.err); again != c.again {
			t.Errorf("%v: %v", c.err, again)
		}
	}
}
