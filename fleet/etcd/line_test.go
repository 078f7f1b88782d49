package main

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"

	"example.org/flock/fleet/lease"
)

// A takenMember is a member of etcd that tells once that a lock is taken, then that it is free or nothing. It does not
// answer those who watch.
type takenMember struct {
	leaseMember
	etcdserverpb.UnimplementedWatchServer
	etcdserverpb.UnimplementedMaintenanceServer
	ends bool // the lock of the other one
	free bool // at the first look
	told atomic.Bool
	said atomic.Pointer[string] // to the user
	from atomic.Int64           // the revision from which it was to watch
}

func (m *takenMember) Status(context.Context, *etcdserverpb.StatusRequest) (*etcdserverpb.StatusResponse, error) {
	return &etcdserverpb.StatusResponse{Version: "3.5.12"}, nil
}

func (m *takenMember) Txn(ctx context.Context, r *etcdserverpb.TxnRequest) (*etcdserverpb.TxnResponse, error) {
	answer := &etcdserverpb.TxnResponse{Succeeded: true, Header: &etcdserverpb.ResponseHeader{Revision: 2}}
	list := &etcdserverpb.RangeResponse{}
	isFirst := m.txns.Add(1) == 1
	switch {
	case isFirst && m.free:
	case !m.told.Swap(true):
		list.Kvs = []*mvccpb.KeyValue{{Key: []byte("/flock/name/line/x/1")}}
	default:
		if err := silence(ctx, !m.ends); err != nil {
			return nil, err
		}
	}
	answer.Responses = []*etcdserverpb.ResponseOp{
		{Response: &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: list}}, {},
	}[:len(r.Success)]
	return answer, nil
}

func (m *takenMember) LeaseKeepAlive(
	s grpc.BidiStreamingServer[etcdserverpb.LeaseKeepAliveRequest, etcdserverpb.LeaseKeepAliveResponse],
) error {
	r, err := s.Recv()
	if err != nil {
		return err
	}
	return s.Send(&etcdserverpb.LeaseKeepAliveResponse{Header: &etcdserverpb.ResponseHeader{}, ID: r.ID, TTL: 2})
}

func (m *takenMember) Watch(
	stream grpc.BidiStreamingServer[etcdserverpb.WatchRequest, etcdserverpb.WatchResponse],
) error {
	if r, err := stream.Recv(); err == nil {
		m.from.Store(r.GetCreateRequest().StartRevision)
	}
	return silence(stream.Context(), true)
}

// A key may be deleted before the watch for that has begun.
func TestDeletedBeforeWatch(t *testing.T) {
	t.Parallel()
	m := &takenMember{}
	s := storeAt(t, "60", func(s *grpc.Server) { etcdserverpb.RegisterWatchServer(s, m) })
	c := &contender{store: s, place: place{key: "key", revision: 7}}
	c.seen.Store(7)
	c.Lost()
	for end := time.Now().Add(time.Minute); m.from.Load() == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if from := m.from.Load(); from != 8 {
		t.Errorf("it watches from revision %d", from)
	}
}

func acquireAt(ctx context.Context, t *testing.T, ttl string, m *takenMember, nonblock bool) error {
	s := storeAt(t, ttl, func(s *grpc.Server) {
		etcdserverpb.RegisterKVServer(s, m)
		etcdserverpb.RegisterLeaseServer(s, m)
		etcdserverpb.RegisterWatchServer(s, m)
		etcdserverpb.RegisterMaintenanceServer(s, m)
	})
	s.link.Note = func(text string) { m.said.Store(&text) }
	_, _, err := lease.Acquire(ctx, s.link, s, lease.Claim{Name: "name", Mode: lease.Exclusive, Nonblock: nonblock})
	return err
}

// A wait ends while a request is under way: then the lock is taken, and etcd was reached.
func TestTimeIsOverInRequest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 4*time.Second, lease.ErrTimeout)
	defer cancel()
	if err := acquireAt(ctx, t, "5", new(takenMember), false); err != lease.ErrTimeout {
		t.Errorf("%v, not that the time is over", err)
	}
}

// A member that is silent about a watch does not keep the waiter from asking again in time. This one is old, too.
func TestSilentWatch(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	m := &takenMember{ends: true}
	if err := acquireAt(ctx, t, "2", m, false); err != nil {
		t.Error(err)
	}
	for m.said.Load() == nil && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if said := m.said.Load(); said == nil || !strings.Contains(*said, "etcd 3.5.12 can end the lock") {
		t.Errorf("it says %v", said)
	}
}

// Another one is before a place in spite of the look. Who does not wait gives it up.
func TestOthersWereFaster(t *testing.T) {
	t.Parallel()
	m := &takenMember{free: true}
	if err := acquireAt(t.Context(), t, "60", m, true); err != lease.ErrTaken {
		t.Error(err)
	}
	if n, revoked := m.txns.Load(), m.revokes.Load(); n != 2 || revoked != 1 {
		t.Errorf("%d transactions, and the lease was revoked %d times", n, revoked)
	}
}

// TestNewcomersAtOnce has a newcomer find nobody, and then another one take its place first. If that may keep it out,
// the newcomer looks again: its queue may be full now.
func TestNewcomersAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode     lease.Mode
		cooldown time.Duration
		other    string
		isAgain  bool
	}{
		{lease.Exclusive, 0, "line/s/9", true}, {lease.Exclusive, time.Hour, "cooldown/x/9", true},
		{lease.Shared, 0, "line/s/9", false}, {lease.Shared, 0, "line/x/9", true},
		{lease.Shared, time.Hour, "cooldown/x/9", true}, {lease.Shared, time.Hour, "line/x/9", true},
		{lease.Permit, 0, "line/p/9", false}, {lease.Permit, time.Hour, "cooldown/x/9", true},
	} {
		s := storeAt(t, "60", func(s *grpc.Server) { etcdserverpb.RegisterKVServer(s, &takenMember{free: true}) })
		n := &contender{store: s, base: s.base("name"), Claim: lease.Claim{Mode: c.mode, Queued: true, Queue: 1,
			Cooldown: c.cooldown}}
		conditions, err := n.admit(t.Context())
		if err != nil || len(conditions) != 1 {
			t.Fatal(conditions, err)
		}
		key := n.base + c.other
		if keys := conditions[0].GetCompare(); (string(keys.Key) <= key && key < string(keys.RangeEnd)) != c.isAgain {
			t.Errorf("%s with a cooldown of %v, and then %s: it looks again: %v", c.mode, c.cooldown, c.other, !c.isAgain)
		}
	}
}

// TestLine has keys, and the places that they stand for.
func TestLine(t *testing.T) {
	s := newStore(config{prefix: "/flock"}, &lease.Link{})
	for key, want := range map[string]lease.Mode{
		"/flock/a/line/x/1": lease.Exclusive, "/flock/a/line/s/1": lease.Shared, "/flock/a/line/p/1": lease.Permit,
		"/flock/a/cooldown/x/1": lease.Cooldown, "/flock/a/other/x/1": "", "/flock/a": "",
		"/flock/a/line/q/1": lease.Exclusive, "/flock/a/line/": lease.Exclusive,
		"/flock/a/line/x/1/2": lease.Exclusive, // unknown
	} {
		list := &etcdserverpb.RangeResponse{Kvs: []*mvccpb.KeyValue{{Key: []byte(key)}}}
		line := s.line(&etcdserverpb.ResponseOp{Response: &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: list}})
		if len(line) > 1 || (len(line) == 1) != (want != "") ||
			want != "" && (line[0].Mode != want || line[0].Lock != "a") {
			t.Errorf("%s: %+v", key, line)
		}
	}
}

// TestCure has a cooldown that has begun, and the command that ends it.
func TestCure(t *testing.T) {
	s := newStore(config{prefix: "/it's"}, &lease.Link{})
	list := &etcdserverpb.RangeResponse{Kvs: []*mvccpb.KeyValue{
		{Key: []byte("/it's/a/cooldown/x/1"), Value: []byte(`{"until":1}`)},
	}}
	line := s.line(&etcdserverpb.ResponseOp{Response: &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: list}})
	if want := `etcdctl del '/it'\''s/a/cooldown/x/1'`; len(line) != 1 || line[0].Cure != want {
		t.Errorf("%+v", line)
	}
}
