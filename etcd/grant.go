//go:build unix

package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"example.org/flock/lease"
)

// A grant is a lease of etcd, which keeps keys for ttl after each time that it was kept alive.
//
// Its end is counted by our own clock, from before the request was sent that etcd then answered. So etcd can only think that
// it ends later.
type grant struct {
	id       clientv3.LeaseID
	ttl      time.Duration // as etcd granted it
	asked    atomic.Bool
	answered bool

	mu   sync.Mutex
	sent time.Duration // when the last request was sent that is known to have had its effect
}

// newGrant chooses the ID of a lease, so that a request that is made twice makes one.
func newGrant(seconds int64) *grant {
	return &grant{id: clientv3.LeaseID(rand.Int64N(math.MaxInt64) + 1), ttl: time.Duration(seconds) * time.Second}
}

func (c *contender) cooldownSeconds() int64 { return int64(math.Ceil(c.Cooldown.Seconds())) }

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

// grant has etcd make a lease.
func (s *store) grant(ctx context.Context, g *grant) error {
	g.sent = lease.Now()
	type answer struct {
		sent time.Duration
		ttl  time.Duration
	}
	a, err := ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (answer, error) {
		sent := lease.Now()
		g.asked.Store(true)
		r, err := etcdserverpb.NewLeaseClient(c.ActiveConnection()).LeaseGrant(ctx,
			&etcdserverpb.LeaseGrantRequest{ID: int64(g.id), TTL: int64(g.ttl / time.Second)})
		switch err = rpctypes.Error(err); {
		case err == rpctypes.ErrLeaseExist: // by an earlier attempt, and it may last for longer
			return answer{g.sent, g.ttl}, nil
		case err != nil:
			return answer{}, err
		}
		return answer{sent, time.Duration(r.TTL) * time.Second}, nil
	})
	if err == nil {
		g.sent, g.ttl, g.answered = a.sent, a.ttl, true
	}
	return err
}

// renew keeps the lease of a place alive, and returns what the place sees.
//
// The answer to a keep-alive alone does not prove that the lease lives. A server that is no leader any more may answer as
// well while it cannot write to its disk, and the new leader lets the lease end (etcd issue 15247). So the key is read from
// a majority of the servers, and the answer counts only if that was in the same term: a leader of a later term came into
// office after the first of both was sent, and then gave the lease all of its time. Reading also finds a key that somebody
// has deleted.
func (c *contender) renew(ctx context.Context, p *place) (v view, err error) {
	return askAt(ctx, c.store, c.life.ttl/10, func(ctx context.Context, client *clientv3.Client) (view, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		sent := lease.Now()
		type answer struct {
			term uint64
			err  error
		}
		kept := make(chan answer, 1)
		go func() {
			term, err := keepAlive(ctx, client, c.life.id)
			kept <- answer{term, err}
		}()
		v, err := c.lookBy(ctx, client, p)
		if err != nil {
			return v, err
		}
		switch a := <-kept; {
		case a.err != nil:
			return v, a.err
		case a.term != v.term:
			return v, errNewLeader
		}
		c.life.keep(sent)
		return v, nil
	})
}

// keepAlive asks once to keep a lease alive, and returns the term of the answer. The error is lease.ErrLost if there is no
// such lease. KeepAliveOnce of the client would ask without a pause while there is no connection.
func keepAlive(ctx context.Context, c *clientv3.Client, id clientv3.LeaseID) (term uint64, err error) {
	stream, err := etcdserverpb.NewLeaseClient(c.ActiveConnection()).LeaseKeepAlive(ctx, grpc.WaitForReady(false))
	if err != nil {
		return 0, rpctypes.Error(err)
	}
	stream.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: int64(id)}) // if that fails, the reason is received
	r, err := stream.Recv()
	switch {
	case err != nil:
		return 0, rpctypes.Error(err)
	case r.TTL <= 0:
		return 0, lease.ErrLost
	}
	return r.Header.RaftTerm, nil
}

// revoke ends leases, with their keys, that have not ended. A request that makes one may still be under way, if it was not
// answered; then there is no such lease for a while.
func (s *store) revoke(ctx context.Context, leases ...*grant) {
	var all sync.WaitGroup
	for _, g := range leases {
		if g == nil || !g.asked.Load() {
			continue
		}
		all.Go(func() {
			since, ttl := g.life()
			ctx, cancel := context.WithTimeout(ctx, since+ttl-lease.Now())
			defer cancel()
			for ctx.Err() == nil {
				_, err := ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (*clientv3.LeaseRevokeResponse, error) {
					return c.Revoke(ctx, g.id)
				})
				if g.answered || !errors.Is(err, lease.ErrLost) {
					return
				}
				time.Sleep(jitter(firstPause))
			}
		})
	}
	all.Wait()
}
