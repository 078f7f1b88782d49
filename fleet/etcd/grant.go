package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/fleet/lease"
)

// grant has etcd make a lease, and returns its life. The ID counts in any case, because a request may have its effect
// without an answer. It is chosen here, so that a request that is made twice makes one lease.
func (s *store) grant(ctx context.Context, seconds int64) (id clientv3.LeaseID, l lease.Life, err error) {
	id = clientv3.LeaseID(rand.Int64N(math.MaxInt64) + 1)
	l.Since = lease.Now()
	granted, err := ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (int64, error) {
		r, err := etcdserverpb.NewLeaseClient(c.ActiveConnection()).LeaseGrant(ctx,
			&etcdserverpb.LeaseGrantRequest{ID: int64(id), TTL: seconds})
		if err = rpctypes.Error(err); errors.Is(err, rpctypes.ErrLeaseExist) { // by an earlier attempt
			return seconds, nil
		}
		return r.GetTTL(), err
	})
	l.TTL = time.Duration(granted) * time.Second
	return id, l, err
}

// look returns what is before a place, as a majority of the servers knows it, and keeps its lease alive if it is to.
// The error is lease.ErrLost if its key is gone.
//
// The answer to a keep-alive alone does not prove that the lease lives. A server that is no leader any more may answer
// as well while it cannot write to its disk, and the new leader lets the lease end (etcd issue 15247). So the key is
// read from a majority of the servers, and the answer counts only if that was in the same term. Reading also finds a
// key that somebody has deleted.
//
//	who leads meanwhile                        does the lease have all of its time from when the first was sent?
//	one leader                                 yes, it has prolonged it
//	a later one, since the first was sent      yes, it gave it that when it came into office
//	a later one, from before that on           not known: the read shows its term, which is not the same
func (c *contender) look(ctx context.Context, p *place, renews bool) (view, error) {
	return ask(ctx, c.store, func(ctx context.Context, client *clientv3.Client) (v view, err error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		sent, term, kept := lease.Now(), uint64(0), make(chan error, 1)
		keepAlive := func() {
			if c.cooldown != 0 && c.From != lease.FromStart {
				client.KeepAliveOnce(ctx, c.cooldown)
			}
			r, err := client.KeepAliveOnce(ctx, c.lease)
			if err == nil {
				term = r.RaftTerm
			}
			kept <- err
		}
		if renews {
			go keepAlive()
		}
		r, err := client.Txn(ctx).If(p.exists()).
			Then(p.get(clientv3.WithMaxCreateRev(p.revision - 1))).Commit()
		switch {
		case err != nil:
			return v, err
		case !r.Succeeded:
			return v, lease.ErrLost
		}
		if c.see(&v, p, r); !renews {
			return v, nil
		}
		if err = <-kept; err == nil && term != v.term {
			err = errNewLeader
		}
		if err == nil {
			v.life = lease.Life{Since: sent, TTL: c.granted}
		}
		return v, err
	})
}

// revoke ends leases, with their keys, that have not ended.
func (s *store) revoke(ctx context.Context, leases ...clientv3.LeaseID) {
	var all sync.WaitGroup
	for _, id := range leases {
		if id != 0 {
			all.Go(func() {
				ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (*clientv3.LeaseRevokeResponse, error) {
					return c.Revoke(ctx, id)
				})
			})
		}
	}
	all.Wait()
}
