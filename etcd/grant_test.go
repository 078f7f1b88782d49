//go:build unix

package main

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.org/flock/lease"
)

// A leaseMember is a member of etcd that grants and revokes leases. It takes note of how often it was asked what.
type leaseMember struct {
	etcdserverpb.UnimplementedKVServer
	etcdserverpb.UnimplementedLeaseServer

	silentTxn, silentRevoke        bool // it does not answer
	slowGrant                      bool // the lease is there only when it was to be revoked for the third time
	grants, revokes, txns, deletes atomic.Int32
}

func (m *leaseMember) LeaseGrant(ctx context.Context, r *etcdserverpb.LeaseGrantRequest) (*etcdserverpb.LeaseGrantResponse, error) {
	m.grants.Add(1)
	return &etcdserverpb.LeaseGrantResponse{ID: r.ID, TTL: r.TTL}, silence(ctx, m.slowGrant)
}

func (m *leaseMember) LeaseRevoke(ctx context.Context, _ *etcdserverpb.LeaseRevokeRequest) (*etcdserverpb.LeaseRevokeResponse, error) {
	if n := m.revokes.Add(1); m.slowGrant && n < 3 {
		return nil, status.Error(codes.NotFound, "etcdserver: requested lease not found")
	}
	return &etcdserverpb.LeaseRevokeResponse{}, silence(ctx, m.silentRevoke)
}

func (m *leaseMember) Txn(ctx context.Context, _ *etcdserverpb.TxnRequest) (*etcdserverpb.TxnResponse, error) {
	m.txns.Add(1)
	return &etcdserverpb.TxnResponse{Succeeded: true}, silence(ctx, m.silentTxn)
}

func (m *leaseMember) DeleteRange(context.Context, *etcdserverpb.DeleteRangeRequest) (*etcdserverpb.DeleteRangeResponse, error) {
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
	c := &contender{store: s, Request: lease.Request{Name: "name", Mode: lease.Exclusive, Cooldown: time.Hour}, base: "/flock/name/",
		life: newGrant(s.ttl), cooldown: newGrant(3600), first: place{gate: "gate", key: "first", revision: 1}, place: place{key: "key", revision: 1}}
	for _, g := range []*grant{c.life, c.cooldown} {
		if err := s.grant(t.Context(), g); err != nil {
			t.Fatal(err)
		}
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

// The cooldown may have its new lease though nobody has heard so. Neither that lease is revoked then, nor the one before.
func TestCooldownIsNotLost(t *testing.T) {
	t.Parallel()
	m := &leaseMember{silentTxn: true}
	c := holderAt(t, m)
	if c.Release(untilAsked(t, &m.txns), true) == nil {
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
	c.Release(t.Context(), false)
	if n := m.revokes.Load(); n < 2 {
		t.Errorf("%d requests to revoke two leases", n)
	}
}

// A request to revoke a lease can overtake the one that makes it, whose answer nobody waits for any more.
func TestRevokeOvertakesGrant(t *testing.T) {
	t.Parallel()
	m := &leaseMember{slowGrant: true}
	s := storeAt(t, "60", m.register)
	c := &contender{store: s, life: newGrant(60)}
	if s.grant(untilAsked(t, &m.grants), c.life) == nil {
		t.Error("the lease was granted")
	}
	c.leave()
	if n := m.revokes.Load(); n != 3 {
		t.Errorf("%d requests to revoke it", n)
	}
}

// Who gives up while a password is checked has asked for no lease, so there is none to revoke.
func TestNoLeaseToRevoke(t *testing.T) {
	t.Parallel()
	m, checker := &leaseMember{}, &fakeMember{check: 300 * time.Millisecond}
	l := listen(t)
	checker.address = l.Addr().String()
	serve(t, l, func(s *grpc.Server) {
		etcdserverpb.RegisterAuthServer(s, checker)
		etcdserverpb.RegisterLeaseServer(s, m)
	})
	c := &contender{store: userOf(t, checker), life: newGrant(60)}
	if c.grant(untilAsked(t, &checker.checks), c.life) == nil {
		t.Error("the lease was granted")
	}
	c.leave()
	if n := m.revokes.Load(); n != 0 {
		t.Errorf("%d requests to revoke it", n)
	}
}
