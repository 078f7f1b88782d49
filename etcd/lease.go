//go:build unix

package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"example.org/flock/etcd/internal/guard"
)

// A lease keeps keys in etcd for ttl after each time that it was kept alive.
//
// Its end is counted by our own clock, from before the request was sent that etcd then answered. So etcd can only think that
// it ends later.
type lease struct {
	id  clientv3.LeaseID
	ttl time.Duration // as etcd granted it

	mu   sync.Mutex
	sent time.Duration // when the last request was sent that is known to have had its effect, on the clock of guard.Now
}

// grant makes a lease. Its ID is ours, so that a request that is made twice makes one lease.
func (s *store) grant(ctx context.Context, seconds int64) (*lease, error) {
	first, id := guard.Now(), rand.Int64N(math.MaxInt64)+1
	var asked atomic.Bool
	l, err := ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (*lease, error) {
		sent := guard.Now()
		asked.Store(true)
		r, err := etcdserverpb.NewLeaseClient(c.ActiveConnection()).LeaseGrant(ctx, &etcdserverpb.LeaseGrantRequest{ID: id, TTL: seconds})
		switch err = rpctypes.Error(err); {
		case err == rpctypes.ErrLeaseExist: // by an earlier attempt, and it may last for longer
			return &lease{id: clientv3.LeaseID(id), ttl: time.Duration(seconds) * time.Second, sent: first}, nil
		case err != nil:
			return nil, err
		}
		return &lease{id: clientv3.LeaseID(id), ttl: time.Duration(r.TTL) * time.Second, sent: sent}, nil
	})
	var unreachable *unreachableError
	if errors.As(err, &unreachable) && asked.Load() && slices.ContainsFunc(s.members, (*member).isConnected) {
		s.revokeUnanswered(&lease{id: clientv3.LeaseID(id), ttl: time.Duration(seconds) * time.Second, sent: first})
	} // else nobody has got the request
	return l, err
}

// revokeUnanswered ends a lease that etcd may have been asked for without an answer. As long as there is no such lease, the
// request may still be under way, at another member or in the same one.
func (s *store) revokeUnanswered(l *lease) {
	ctx, cancel := s.hurry()
	defer cancel()
	for s.revokeOnce(ctx, l) == errLost && ctx.Err() == nil {
		time.Sleep(jitter(firstPause))
	}
}

func (l *lease) String() string { return strconv.FormatInt(int64(l.id), 16) }

// since returns when the last request was sent that is known to have kept the lease alive.
func (l *lease) since() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent
}

// left returns how long the lease will live at least.
func (l *lease) left() time.Duration { return l.since() + l.ttl - guard.Now() }

// limits returns until when a command may run under the lease. What lies between Limits.End and the end of the lease is for
// clocks that run at different speeds, and for the time that it takes to die.
func (l *lease) limits() guard.Limits {
	sent := l.since()
	return guard.Limits{Term: sent + l.ttl*6/10, Kill: sent + l.ttl*8/10, End: sent + l.ttl*9/10}
}

// renew keeps the lease of a place alive, and returns what the place sees. A member has a third of the TTL to answer.
//
// The answer to a keep-alive alone does not prove that the lease lives. A member that is no leader any more may answer as
// well while it cannot write to its disk, and the new leader lets the lease end (etcd issue 15247). So the key is read from
// a majority of the members, and the answer counts only if that was in the same term: a leader of a later term came into
// office after both were sent, and then gave the lease all of its time. Reading also finds a key that somebody has deleted.
func (l *place) renew(ctx context.Context) (view, error) {
	return askAt(ctx, l.store, pace{second: l.ttl / 10, third: l.ttl / 4}, func(ctx context.Context, c *clientv3.Client) (view, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		sent := guard.Now()
		type answer struct {
			term uint64
			err  error
		}
		kept := make(chan answer, 1)
		go func() {
			term, err := keepAlive(ctx, c, l.id)
			kept <- answer{term, err}
		}()
		v, err := l.look(ctx, c, l.request, l)
		if err != nil {
			return v, err
		}
		switch a := <-kept; {
		case a.err != nil:
			return v, a.err
		case a.term != v.term:
			return v, errNewLeader
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.sent = max(l.sent, sent)
		return v, nil
	})
}

// keepAlive asks a member once to keep a lease alive, and returns the term of its answer. The error is errLost if there is
// no such lease. KeepAliveOnce of the client would ask without a pause while there is no connection.
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
		return 0, errLost
	}
	return r.Header.RaftTerm, nil
}

// revoke ends a lease, with its keys, if it has not ended.
func (s *store) revoke(ctx context.Context, l *lease) error {
	if err := s.revokeOnce(ctx, l); err != errLost {
		return err
	}
	return nil
}

// revokeOnce ends a lease, with its keys. The error is errLost if there is no such lease.
func (s *store) revokeOnce(ctx context.Context, l *lease) error {
	ctx, cancel := context.WithTimeout(ctx, l.left())
	defer cancel()
	_, err := ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (*clientv3.LeaseRevokeResponse, error) {
		return c.Revoke(ctx, l.id)
	})
	return err
}

// revokeSoon ends a lease for whose end nobody should have to wait.
func (s *store) revokeSoon(l *lease) {
	ctx, cancel := s.hurry()
	defer cancel()
	s.revoke(ctx, l)
}
