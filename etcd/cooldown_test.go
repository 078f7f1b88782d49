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

// A coolingMember is a member of etcd that tells once that there is a cooldown, then is silent.
type coolingMember struct {
	etcdserverpb.UnimplementedKVServer
	told atomic.Bool
}

func (m *coolingMember) Range(ctx context.Context, r *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	if m.told.Swap(true) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &etcdserverpb.RangeResponse{Header: &etcdserverpb.ResponseHeader{Revision: 2},
		Kvs: []*mvccpb.KeyValue{{Key: r.Key, Lease: 1}}}, nil
}

// A wait for a cooldown ends while a request is under way: then there is a cooldown, and etcd was reached.
func TestTimeIsOverInRequest(t *testing.T) {
	t.Parallel()
	l := listen(t)
	serve(t, l, func(s *grpc.Server) { etcdserverpb.RegisterKVServer(s, &coolingMember{}) })
	s := newStore(config{endpoints: []string{l.Addr().String()}, ttl: 3600, keepAliveTime: time.Minute, keepAliveTimeout: time.Minute}, "name")
	s.limit = time.Time{}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, kernlock.ErrTimeout)
	defer cancel()
	if _, err := acquire(ctx, &output.Printer{}, s, newRequest(&cli.Options{Cooldown: time.Hour})); err != kernlock.ErrTimeout {
		t.Errorf("%v, not that the time is over", err)
	}
}
