package main

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"example.org/flock/fleet/lease"
)

// A leaseMember is a member of etcd that grants and revokes leases. It takes note of how often it was asked what.
type leaseMember struct {
	etcdserverpb.UnimplementedKVServer
	etcdserverpb.UnimplementedLeaseServer

	silentTxn, silentRevoke        bool // it does not answer
	grants, revokes, txns, deletes atomic.Int32
}

func (m *leaseMember) LeaseGrant(
	_ context.Context, r *etcdserverpb.LeaseGrantRequest,
) (*etcdserverpb.LeaseGrantResponse, error) {
	m.grants.Add(1)
	return &etcdserverpb.LeaseGrantResponse{ID: r.ID, TTL: r.TTL}, nil
}

func (m *leaseMember) LeaseRevoke(
	ctx context.Context, _ *etcdserverpb.LeaseRevokeRequest,
) (*etcdserverpb.LeaseRevokeResponse, error) {
	m.revokes.Add(1)
	return &etcdserverpb.LeaseRevokeResponse{}, silence(ctx, m.silentRevoke)
}

func (m *leaseMember) Txn(ctx context.Context, _ *etcdserverpb.TxnRequest) (*etcdserverpb.TxnResponse, error) {
	m.txns.Add(1)
	return &etcdserverpb.TxnResponse{Succeeded: true}, silence(ctx, m.silentTxn)
}

func (m *leaseMember) DeleteRange(
	context.Context, *etcdserverpb.DeleteRangeRequest,
) (*etcdserverpb.DeleteRangeResponse, error) {
	m.deletes.Add(1)
	return &etcdserverpb.DeleteRangeResponse{}, nil
}

func (m *leaseMember) register(s *grpc.Server) {
	etcdserverpb.RegisterKVServer(s, m)
	etcdserverpb.RegisterLeaseServer(s, m)
}

func silence(ctx context.Context, isSilent bool) error {
	if isSilent {
		<-ctx.Done()
	}
	return ctx.Err()
}

// holderAt returns a holder of a lock at a member, with a lease and a cooldown.
func holderAt(t *testing.T, m *leaseMember) *contender {
	s := storeAt(t, "60", m.register)
	c := &contender{store: s, Claim: lease.Claim{Name: "name", Mode: lease.Exclusive, Cooldown: time.Hour},
		base: "/flock/name/", first: place{key: "first", revision: 1}, place: place{key: "key", revision: 1}}
	var err error
	c.granted, c.heldAt = time.Hour, 1
	if c.lease, _, err = s.grant(t.Context(), 3600); err == nil {
		c.cooldown, _, err = s.grant(t.Context(), 3600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// untilAsked returns a context that ends when a member has been asked.
func untilAsked(t *testing.T, requests *atomic.Int32) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for requests.Load() == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	return ctx
}

// The cooldown may have its new lease though nobody has heard so. Neither that lease is revoked then, nor the one
// before.
func TestCooldownIsNotLost(t *testing.T) {
	t.Parallel()
	m := &leaseMember{silentTxn: true}
	c := holderAt(t, m)
	if c.Release(untilAsked(t, &m.txns), lease.End{Fate: lease.Ended, Cools: time.Hour}) == nil {
		t.Error("the cooldown was prolonged")
	}
	if n := m.revokes.Load(); n != 0 {
		t.Errorf("%d leases were revoked", n)
	}
}

// The cooldown of a command that was not started does not use the time up in which the lock is released.
func TestReleaseOfBoth(t *testing.T) {
	t.Parallel()
	m := &leaseMember{silentRevoke: true}
	c := holderAt(t, m)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	c.Release(ctx, lease.End{})
	if n := m.revokes.Load(); n < 2 {
		t.Errorf("%d requests to revoke two leases", n)
	}
}
