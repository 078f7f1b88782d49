//go:build unix

package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/lease"
)

// A grant is a lease of etcd, which keeps keys for ttl after each time that it was kept alive.
//
// Its end is counted by our own clock, from before the request was sent that etcd then answered. So etcd can only think that
// it ends later.
type grant struct {
	id  clientv3.LeaseID
	ttl time.Duration // as etcd granted it

	mu   sync.Mutex
	sent time.Duration // when the last request was sent that is known to have had its effect
}

func (g *grant) String() string { return strconv.FormatInt(int64(g.id), 16) }

func (g *grant) life() (since, ttl time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sent, g.ttl
}

func (g *grant) keep(sent time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sent = max(g.sent, sent)
}

// isOld reports whether half of the time of the lease is over.
func (g *grant) isOld() bool {
	since, ttl := g.life()
	return lease.Now() >= since+ttl/2
}

// grant has etcd make a lease. It returns one in any case, because a request may have its effect without an answer. It chooses
// the ID, so that a request that is made twice makes one.
func (s *store) grant(ctx context.Context, seconds int64) (*grant, error) {
	g := &grant{id: clientv3.LeaseID(rand.Int64N(math.MaxInt64) + 1)}
	var first sync.Once
	ttl, err := ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (int64, error) {
		first.Do(func() { g.sent = lease.Now() })
		r, err := etcdserverpb.NewLeaseClient(c.ActiveConnection()).LeaseGrant(ctx, &etcdserverpb.LeaseGrantRequest{ID: int64(g.id), TTL: seconds})
		if err = rpctypes.Error(err); errors.Is(err, rpctypes.ErrLeaseExist) { // by an earlier attempt
			return seconds, nil
		}
		return r.GetTTL(), err
	})
	g.ttl = time.Duration(ttl) * time.Second
	return g, err
}

// renew keeps the lease of a place alive, and returns what the place sees.
//
// The answer to a keep-alive alone does not prove that the lease lives. A server that is no leader any more may answer as
// well while it cannot write to its disk, and the new leader lets the lease end (etcd issue 15247). So the key is read from
// a majority of the servers, and the answer counts only if that was in the same term: a leader of a later term came into
// office after the first of both was sent, and then gave the lease all of its time. Reading also finds a key that somebody
// has deleted.
func (c *contender) renew(ctx context.Context, p *place) (v view, err error) {
	return ask(ctx, c.store, func(ctx context.Context, client *clientv3.Client) (view, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		sent, term, kept := lease.Now(), uint64(0), make(chan error, 1)
		go func() {
			r, err := client.KeepAliveOnce(ctx, c.life.id)
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
			c.life.keep(sent)
		}
		return v, err
	})
}

// revoke ends leases, with their keys, that have not ended.
func (s *store) revoke(ctx context.Context, leases ...*grant) {
	var all sync.WaitGroup
	for _, g := range leases {
		if g != nil {
			all.Go(func() {
				ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (*clientv3.LeaseRevokeResponse, error) {
					return c.Revoke(ctx, g.id)
				})
			})
		}
	}
	all.Wait()
}
