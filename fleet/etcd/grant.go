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

// Life implements lease.Held. The time is counted by our own clock, from before the request was sent that etcd then
// answered. So etcd can only think that the lease ends later.
func (c *contender) Life() (since, ttl time.Duration) { return time.Duration(c.sent.Load()), c.granted }

// grantPlaces has etcd make the lease of both places.
func (c *contender) grantPlaces(ctx context.Context) (err error) {
	var sent time.Duration
	c.lease, sent, c.granted, err = c.grant(ctx, c.ttl)
	c.sent.Store(int64(sent))
	return err
}

// grant has etcd make a lease, and returns how long that lives after a time before the request was sent. The ID counts
// in any case, because a request may have its effect without an answer. It is chosen here, so that a request that is
// made twice makes one lease.
func (s *store) grant(ctx context.Context, seconds int64) (id clientv3.LeaseID, sent, ttl time.Duration, err error) {
	id = clientv3.LeaseID(rand.Int64N(math.MaxInt64) + 1)
	sent = lease.Now()
	granted, err := ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (int64, error) {
		r, err := etcdserverpb.NewLeaseClient(c.ActiveConnection()).LeaseGrant(ctx,
			&etcdserverpb.LeaseGrantRequest{ID: int64(id), TTL: seconds})
		if err = rpctypes.Error(err); errors.Is(err, rpctypes.ErrLeaseExist) { // by an earlier attempt
			return seconds, nil
		}
		return r.GetTTL(), err
	})
	return id, sent, time.Duration(granted) * time.Second, err
}

// renew keeps the lease of a place alive, and returns what the place sees.
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
func (c *contender) renew(ctx context.Context, p *place) (v view, err error) {
	return ask(ctx, c.store, func(ctx context.Context, client *clientv3.Client) (view, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		sent, term, kept := lease.Now(), uint64(0), make(chan error, 1)
		go func() {
			if c.cooldown != 0 && c.From != lease.FromStart {
				client.KeepAliveOnce(ctx, c.cooldown)
			}
			r, err := client.KeepAliveOnce(ctx, c.lease)
			if err == nil {
				term = r.RaftTerm
			}
			kept <- err
		}()
		v, err := c.lookBy(ctx, client, p)
		if err == nil {
			err = <-kept
		}
		if err == nil && term != v.term {
			err = errNewLeader
		}
		if err == nil {
			// Of two at once the earlier one may remain, which does no harm.
			c.sent.Store(max(c.sent.Load(), int64(sent)))
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
