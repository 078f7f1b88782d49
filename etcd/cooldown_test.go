//go:build unix

package main

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/kernlock"
	"example.org/flock/internal/output"
)

// A coolingMember is a member of etcd that tells once that there is a cooldown, then that there is none or nothing. It does
// not answer those who watch.
type coolingMember struct {
	etcdserverpb.UnimplementedKVServer
	etcdserverpb.UnimplementedWatchServer
	ends bool // the cooldown
	told atomic.Bool
}

func (m *coolingMember) Range(ctx context.Context, r *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	answer := &etcdserverpb.RangeResponse{Header: &etcdserverpb.ResponseHeader{Revision: 2}}
	if !m.told.Swap(true) {
		answer.Kvs = []*mvccpb.KeyValue{{Key: r.Key, Lease: 1}}
		return answer, nil
	}
	return answer, silence(ctx, !m.ends)
}

func (m *coolingMember) Watch(stream grpc.BidiStreamingServer[etcdserverpb.WatchRequest, etcdserverpb.WatchResponse]) error {
	return silence(stream.Context(), true)
}

func (m *coolingMember) register(s *grpc.Server) {
	etcdserverpb.RegisterKVServer(s, m)
	etcdserverpb.RegisterWatchServer(s, m)
}

// A wait for a cooldown ends while a request is under way: then there is a cooldown, and etcd was reached.
func TestTimeIsOverInRequest(t *testing.T) {
	t.Parallel()
	s := storeAt(t, 3600, new(coolingMember).register)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, kernlock.ErrTimeout)
	defer cancel()
	if _, err := acquire(ctx, &output.Printer{}, s, newRequest(&cli.Options{Cooldown: time.Hour})); err != kernlock.ErrTimeout {
		t.Errorf("%v, not that the time is over", err)
	}
}

// A member that is silent about a watch does not keep the waiter from asking again in time.
func TestSilentWatch(t *testing.T) {
	t.Parallel()
	s := storeAt(t, 2, (&coolingMember{ends: true}).register)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.awaitCooldown(ctx, &output.Printer{}, false); err != nil {
		t.Error(err)
	}
}
