//go:build unix

package main

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A fakeMember is a member of etcd as far as logging in goes.
type fakeMember struct {
	etcdserverpb.UnimplementedAuthServer
	etcdserverpb.UnimplementedKVServer
	address string
	check   time.Duration // how long it checks a password
	isAlone bool          // it is cut off from the other members
	checks  atomic.Int32
}

func (m *fakeMember) Authenticate(ctx context.Context, _ *etcdserverpb.AuthenticateRequest) (*etcdserverpb.AuthenticateResponse, error) {
	if m.isAlone {
		return nil, m.timeOut(ctx)
	}
	m.checks.Add(1)
	time.Sleep(m.check)
	return &etcdserverpb.AuthenticateResponse{Token: "token of " + m.address}, nil
}

func (m *fakeMember) Range(ctx context.Context, _ *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	if m.isAlone {
		return nil, m.timeOut(ctx)
	}
	return nil, status.Error(codes.InvalidArgument, "etcdserver: user name is empty")
}

// timeOut waits in vain for the other members.
func (m *fakeMember) timeOut(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-time.After(7 * time.Second): // as etcd does
	}
	return status.Error(codes.Unavailable, "etcdserver: request timed out")
}

// startMember starts a member; one that is frozen takes connections and says nothing.
func startMember(t *testing.T, m *fakeMember, isFrozen bool) *fakeMember {
	l := listen(t)
	m.address = l.Addr().String()
	if !isFrozen {
		serve(t, l, func(s *grpc.Server) {
			etcdserverpb.RegisterAuthServer(s, m)
			etcdserverpb.RegisterKVServer(s, m)
		})
	}
	return m
}

func listen(t *testing.T) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func serve(t *testing.T, l net.Listener, register func(*grpc.Server)) {
	s := grpc.NewServer()
	register(s)
	go s.Serve(l)
	t.Cleanup(s.Stop)
}

// userOf returns a store of a user who asks the first member first.
func userOf(members ...*fakeMember) *store {
	c := config{user: "cron", password: "geheim", reach: 2 * time.Second, keepAliveTime: time.Minute, keepAliveTimeout: time.Minute}
	for _, m := range members {
		c.endpoints = append(c.endpoints, m.address)
	}
	s := newStore(c, "name")
	s.first.Store(0)
	return s
}

func awaitToken(t *testing.T, s *store, from *fakeMember) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	text, err := s.logIn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if want := "token of " + from.address; *text != want {
		t.Errorf("%q, not %q", *text, want)
	}
}

// A member that checks a password is left alone with that for as long as it takes, though others could be asked, and though
// the one who asked has gone.
func TestSlowLogin(t *testing.T) {
	t.Parallel()
	slow, other := startMember(t, &fakeMember{check: 3 * time.Second}, false), startMember(t, &fakeMember{}, false)
	s := userOf(slow, other)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if _, err := s.logIn(ctx); err == nil {
		t.Error("the password was checked too early")
	}
	awaitToken(t, s, slow)
	if n, others := slow.checks.Load(), other.checks.Load(); n != 1 || others != 0 {
		t.Errorf("%d checks, and %d by the other member", n, others)
	}
}

// One that is frozen, or cut off from the other members, is not waited for; nor are two of five, but for what they take to
// say that they are cut off.
func TestLoginElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bad               int
		isFrozen, isAlone bool
		limit             time.Duration
	}{
		"frozen":      {1, true, false, 2 * time.Second},
		"two frozen":  {2, true, false, 2 * time.Second},
		"cut off":     {1, false, true, 2 * time.Second},
		"two cut off": {2, false, true, 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var members []*fakeMember
			for i := range 5 {
				isBad := i < c.bad
				members = append(members, startMember(t, &fakeMember{isAlone: isBad && c.isAlone}, isBad && c.isFrozen))
			}
			s := userOf(members...)
			began := time.Now()
			awaitToken(t, s, members[c.bad])
			if took := time.Since(began); took > c.limit+time.Second {
				t.Errorf("after %v", took)
			}
		})
	}
}
