package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.org/flock/fleet/lease"
)

// A fakeMember is a member of etcd as far as logging in goes.
type fakeMember struct {
	etcdserverpb.UnimplementedAuthServer
	etcdserverpb.UnimplementedKVServer
	address string
	check   time.Duration // how long it checks a password
	isAlone bool          // it is cut off from the other members
	old     bool          // a token is too old when it is used for the first time
	answers bool          // those who have no user, too
	checks  atomic.Int32
	asked   atomic.Int32
	silent  atomic.Bool // it does not answer any more
}

func (m *fakeMember) Authenticate(
	ctx context.Context, _ *etcdserverpb.AuthenticateRequest,
) (*etcdserverpb.AuthenticateResponse, error) {
	if m.isAlone {
		return nil, m.timeOut(ctx)
	}
	m.checks.Add(1)
	time.Sleep(m.check)
	return &etcdserverpb.AuthenticateResponse{Token: "token of " + m.address}, nil
}

func (m *fakeMember) Txn(ctx context.Context, _ *etcdserverpb.TxnRequest) (*etcdserverpb.TxnResponse, error) {
	if m.isAlone {
		return nil, m.timeOut(ctx)
	}
	switch {
	case m.silent.Load():
		return nil, silence(ctx, true)
	case m.answers:
	case !m.old:
		return nil, status.Error(codes.InvalidArgument, "etcdserver: user name is empty")
	case m.asked.Add(1) == 1:
		return nil, status.Error(codes.InvalidArgument, "etcdserver: revision of auth store is old")
	}
	list := &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: &etcdserverpb.RangeResponse{}}
	return &etcdserverpb.TxnResponse{Responses: []*etcdserverpb.ResponseOp{{Response: list}}}, nil
}

// timeOut waits in vain for the other members.
func (m *fakeMember) timeOut(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-time.After(2 * time.Second): // etcd takes seven
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

// storeAt returns a store at a member that has the services which register adds.
func storeAt(t *testing.T, ttl string, register func(*grpc.Server)) *store {
	l := listen(t)
	serve(t, l, register)
	return storeFor(t, map[string]string{
		"ETCDCTL_ENDPOINTS": l.Addr().String(), "ETCDCTL_DIAL_TIMEOUT": "1m", "FLOCK_ETCD_TTL": ttl,
	})
}

func storeFor(t *testing.T, env map[string]string) *store {
	c, failure := read(t, env)
	if failure != "" {
		t.Fatal(failure)
	}
	return newStore(c, &lease.Link{Note: func(string) {}})
}

// userOf returns a store of a user.
func userOf(t *testing.T, members ...*fakeMember) *store {
	var endpoints []string
	for _, m := range members {
		endpoints = append(endpoints, m.address)
	}
	return storeFor(t, map[string]string{
		"ETCDCTL_USER": "cron:geheim", "ETCDCTL_DIAL_TIMEOUT": "2s", "ETCDCTL_ENDPOINTS": strings.Join(endpoints, ","),
	})
}

// logInAt logs in, and returns the member that has checked the password.
func logInAt(t *testing.T, s *store) (address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	token, err := s.logIn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(*token, "token of ")
}

// A member that checks a password is left alone with that for as long as it takes, though others could be asked, and
// though the one who asked has gone.
func TestSlowLogin(t *testing.T) {
	t.Parallel()
	a := startMember(t, &fakeMember{check: 3 * time.Second}, false)
	b := startMember(t, &fakeMember{check: 3 * time.Second}, false)
	s := userOf(t, a, b)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if _, err := s.logIn(ctx); err == nil {
		t.Error("the password was checked too early")
	}
	logInAt(t, s)
	if n := a.checks.Load() + b.checks.Load(); n != 1 {
		t.Errorf("%d checks", n)
	}
}

// One that is frozen, or cut off from the other members, is not waited for; nor are two of five, but for what they take
// to say that they are cut off.
func TestLoginElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bad               int
		isFrozen, isAlone bool
		limit             time.Duration
	}{
		"frozen":      {1, true, false, 3 * time.Second},
		"two frozen":  {2, true, false, 5 * time.Second},
		"cut off":     {1, false, true, 4 * time.Second},
		"two cut off": {2, false, true, 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := map[string]bool{}
			var members []*fakeMember
			for i := range 5 {
				isBad := i < c.bad
				members = append(members, startMember(t, &fakeMember{isAlone: isBad && c.isAlone}, isBad && c.isFrozen))
				good[members[i].address] = !isBad
			}
			for range 3 { // it begins with any of them
				began := time.Now()
				if at := logInAt(t, userOf(t, members...)); !good[at] {
					t.Errorf("at %s", at)
				}
				if took := time.Since(began); took > c.limit+time.Second {
					t.Errorf("after %v", took)
				}
			}
		})
	}
}

// A token that was too old is no refusal. A refusal does not lack the hint that says what to do.
func TestRefused(t *testing.T) {
	t.Parallel()
	get := func(s *store) error {
		_, _, err := s.List(t.Context(), "name")
		return err
	}
	if err := get(userOf(t, startMember(t, &fakeMember{check: 200 * time.Millisecond, old: true}, false))); err != nil {
		t.Error(err)
	}
	for variable, hint := range map[string]func(s *store){
		"ETCDCTL_USER":           func(s *store) { s.user = "" },
		"ETCDCTL_AUTH_JWT_TOKEN": func(s *store) { s.user, s.jwt = "", "token" },
	} {
		s := userOf(t, startMember(t, &fakeMember{}, false))
		hint(s)
		var refused *lease.Error
		if err := get(s); !errors.As(err, &refused) || !strings.Contains(refused.Hint, variable) {
			t.Errorf("%v, without %s", err, variable)
		}
	}
}

// One who lists or breaks does not wait for ever for an etcd that was reached and then falls silent.
func TestSilentLater(t *testing.T) {
	t.Parallel()
	for what, env := range map[string]map[string]string{
		"without a user": {}, "with a password": {"ETCDCTL_USER": "cron:geheim"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m := startMember(t, &fakeMember{answers: true}, false)
			env["ETCDCTL_ENDPOINTS"], env["ETCDCTL_DIAL_TIMEOUT"] = m.address, "1s"
			s := storeFor(t, env)
			if _, _, err := s.List(t.Context(), "name"); err != nil {
				t.Fatal(err)
			}
			m.silent.Store(true)
			ended := make(chan error, 2)
			go func() { _, _, err := s.List(t.Context(), "name"); ended <- err }()
			go func() { ended <- s.Break(t.Context(), "key") }()
			for range 2 {
				select {
				case err := <-ended:
					if err == nil {
						t.Error("there was an answer")
					}
				case <-time.After(20 * time.Second):
					t.Fatal("it waits")
				}
			}
		})
	}
}

// A client that is silent is replaced once, by the first of those that answer.
func TestReplace(t *testing.T) {
	t.Parallel()
	s := userOf(t, &fakeMember{address: "127.0.0.1:1"})
	silent, err := s.current()
	if err != nil {
		t.Fatal(err)
	}
	first, _ := s.newClient()
	second, _ := s.newClient()
	s.replace(silent, first)
	s.replace(silent, second)
	if now, err := s.current(); now != first || err != nil {
		t.Errorf("%p, not %p: %v", now, first, err)
	}
}

// A certificate that is not trusted is refused at once: what this side refuses is no answer of the server, after which
// the request that gives up the claim would go on for a second.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.EnableHTTP2, server.Config.ErrorLog = true, log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	s := storeFor(t, map[string]string{
		"ETCDCTL_ENDPOINTS": "https://" + server.Listener.Addr().String(), "ETCDCTL_DIAL_TIMEOUT": "1m",
	})
	_, _, err := lease.Acquire(t.Context(), s.link, s, lease.Claim{Name: "name", Mode: lease.Exclusive})
	var no *lease.Error
	if !errors.As(err, &no) || no.Status != 64 || no.Hint != "see ETCDCTL_CACERT" || s.link.Reached() {
		t.Errorf("%v, reached: %v, %d attempts repeated", err, s.link.Reached(), s.link.Repeats())
	}
}
