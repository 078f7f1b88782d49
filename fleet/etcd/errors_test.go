package main

import (
	"errors"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.org/flock/fleet/lease"
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
		{lease.ErrLost, false},
		{errNewLeader, true},
		{errors.New("something else"), false},
	} {
		if again := (&store{link: &lease.Link{}}).mayTryAgain(c.err); again != c.again {
			t.Errorf("%v: %v", c.err, again)
		}
	}
}

// TestIsOld has versions in which leases that are alive can end.
func TestIsOld(t *testing.T) {
	for version, old := range map[string]bool{
		"3.3.27": true, "3.4.30": true, "3.4.31": false, "3.5.12": true, "3.5.13": false, "3.5.0-rc.1": true,
		"3.6.0": false, "3.7.3": false, "4.0.0": false, "": false,
	} {
		if isOld(version) != old {
			t.Errorf("%s: %v", version, !old)
		}
	}
}
