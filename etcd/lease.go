//go:build unix

package main

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/etcd/internal/guard"
)

// errLost says that etcd has dropped the lease or the key.
var errLost = errors.New("etcd has dropped it")

var errNewLeader = errors.New("etcd has a new leader")

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

func (s *store) grant(ctx context.Context, seconds int64) (*lease, error) {
	return ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (*lease, error) {
		sent := guard.Now()
		r, err := c.Grant(ctx, seconds)
		if err != nil {
			return nil, err
		}
		return &lease{id: r.ID, ttl: time.Duration(r.TTL) * time.Second, sent: sent}, nil
	})
}

func (l *lease) String() string { return strconv.FormatInt(int64(l.id), 16) }

// since returns when the last request was sent that is known to have kept the lease alive.
func (l *lease) since() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent
}

// limits returns until when a command may run under the lease. What lies between Limits.End and the end of the lease is for
// clocks that run at different speeds, and for the time that it takes to die.
func (l *lease) limits() guard.Limits {
	sent := l.since()
	return guard.Limits{Term: sent + l.ttl*6/10, Kill: sent + l.ttl*8/10, End: sent + l.ttl*9/10}
}

// renew keeps the lease of a place alive, once.
//
// The answer alone does not prove that. A member that is no leader any more may answer as well while it cannot write to its
// disk, and the new leader lets the lease end (etcd issue 15247). So the answer counts only if the key is then read from a
// majority of the members, in the same term. That also finds a key that somebody has deleted.
func (l *place) renew(ctx context.Context, c *clientv3.Client) error {
	sent := guard.Now()
	r, err := l.keepAliveOnce(ctx, c, l.id)
	if err != nil {
		return err
	}
	v, err := l.look(ctx, c, l.request, l)
	if err != nil {
		return err
	}
	if v.term != r.Header.RaftTerm {
		l.dropStreams() // they may be to one that takes itself for the leader
		return errNewLeader
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = max(l.sent, sent)
	return nil
}

// revoke ends a lease, with its keys.
func (s *store) revoke(ctx context.Context, l *lease) {
	ctx, cancel := context.WithTimeout(ctx, l.since()+l.ttl-guard.Now())
	defer cancel()
	s.do(ctx, func(ctx context.Context, c *clientv3.Client) error {
		_, err := c.Revoke(ctx, l.id)
		return err
	})
}

// A keepAliveStream is a connection for requests to keep leases alive.
type keepAliveStream struct {
	etcdserverpb.Lease_LeaseKeepAliveClient
	cancel context.CancelFunc
}

// keepAliveOnce asks a member to keep a lease alive. The error is errLost if there is no such lease.
//
// It is KeepAliveOnce of the client, which would open a new stream each time, and for that, if there is a user, ask for a
// new token, whose password costs a member of etcd a tenth of a second of its processor.
func (s *store) keepAliveOnce(ctx context.Context, c *clientv3.Client, id clientv3.LeaseID) (*etcdserverpb.LeaseKeepAliveResponse, error) {
	stream, err := s.takeStream(ctx, c)
	if err != nil {
		return nil, err
	}
	undo := context.AfterFunc(ctx, stream.cancel)
	var r *etcdserverpb.LeaseKeepAliveResponse
	if err = stream.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: int64(id)}); err == nil || err == io.EOF { // the reason is received
		r, err = stream.Recv()
	}
	if undo() && err == nil {
		s.putStream(stream)
	} else {
		stream.cancel()
	}
	if err == nil && r.TTL <= 0 {
		err = errLost
	}
	return r, rpctypes.Error(err)
}

// takeStream returns a stream that nobody is using, or a new one.
func (s *store) takeStream(ctx context.Context, c *clientv3.Client) (*keepAliveStream, error) {
	select {
	case stream := <-s.streams:
		return stream, nil
	default:
	}
	open, cancel := context.WithCancel(context.Background())
	undo := context.AfterFunc(ctx, cancel)
	stream, err := etcdserverpb.NewLeaseClient(c.ActiveConnection()).LeaseKeepAlive(open)
	if !undo() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		return nil, rpctypes.Error(err)
	}
	return &keepAliveStream{stream, cancel}, nil
}

func (s *store) putStream(stream *keepAliveStream) {
	select {
	case s.streams <- stream:
	default:
		stream.cancel()
	}
}

// dropStreams closes the streams that nobody is using.
func (s *store) dropStreams() {
	for {
		select {
		case stream := <-s.streams:
			stream.cancel()
		default:
			return
		}
	}
}
