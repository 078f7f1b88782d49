//go:build unix

package main

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"example.org/flock/internal/cli"
)

// A leaseMember is a member of etcd that grants and revokes leases. It takes note of how often it was asked what.
type leaseMember struct {
	etcdserverpb.UnimplementedKVServer
	etcdserverpb.UnimplementedLeaseServer

	silentTxn, silentRevoke        bool // it does not answer
	grants, revokes, txns, deletes atomic.Int32
}

func (m *leaseMember) LeaseGrant(_ context.Context, r *etcdserverpb.LeaseGrantRequest) (*etcdserverpb.LeaseGrantResponse, error) {
	m.grants.Add(1)
	return &etcdserverpb.LeaseGrantResponse{ID: r.ID, TTL: r.TTL}, nil
}

func (m *leaseMember) LeaseRevoke(ctx context.Context, _ *etcdserverpb.LeaseRevokeRequest) (*etcdserverpb.LeaseRevokeResponse, error) {
	m.revokes.Add(1)
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

func silence(ctx context.Context, isSilent bool) error {
	if isSilent {
		<-ctx.Done()
	}
	return ctx.Err()
}

// placeAt returns a place in the line of a member, with a lease and a cooldown.
func placeAt(t *testing.T, m *leaseMember) *place {
	l := listen(t)
	serve(t, l, func(s *grpc.Server) {
		etcdserverpb.RegisterKVServer(s, m)
		etcdserverpb.RegisterLeaseServer(s, m)
	})
	s := newStore(config{endpoints: []string{l.Addr().String()}, reach: time.Minute, ttl: 60,
		keepAliveTime: time.Minute, keepAliveTimeout: time.Minute}, "name")
	lease, err := s.grant(t.Context(), s.ttl)
	if err != nil {
		t.Fatal(err)
	}
	p := s.newPlace(lease, newRequest(&cli.Options{Cooldown: time.Hour}))
	p.revision = 1
	if p.cooling, err = s.grant(t.Context(), 3600); err != nil {
		t.Fatal(err)
	}
	return p
}

// The cooldown may have its new lease though nobody has heard so. Neither that lease is revoked then, nor the one before.
func TestCooldownIsNotLost(t *testing.T) {
	t.Parallel()
	m := &leaseMember{silentTxn: true}
	p := placeAt(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for m.txns.Load() == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if p.prolongCooldown(ctx) == nil {
		t.Error("the cooldown was prolonged")
	}
	if n := m.revokes.Load(); n != 0 {
		t.Errorf("%d leases were revoked", n)
	}
}

// The cooldown of a command that was not started does not use the time up in which the key of the lock is deleted.
func TestReleaseOfBoth(t *testing.T) {
	t.Parallel()
	m := &leaseMember{silentRevoke: true}
	placeAt(t, m).releaseSoon()
	if revokes, deletes := m.revokes.Load(), m.deletes.Load(); revokes == 0 || deletes == 0 {
		t.Errorf("%d requests to end the cooldown, and %d to delete the key", revokes, deletes)
	}
}
