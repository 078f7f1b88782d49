package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/credentials"
	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"

	"example.org/flock/fleet/lease"
	"example.org/flock/internal/sys"
)

// A store is etcd, as somebody asks it.
type store struct {
	config
	link *lease.Link

	mu     sync.Mutex
	client *clientv3.Client // of the library: the one that has answered last

	token  atomic.Pointer[string] // if there is a user; nil: not yet
	tokens credentials.PerRPCCredentialsBundle
	login  singleflight.Group

	warnedOfOld sync.Once
}

func newStore(c config, l *lease.Link) *store {
	l.Server, l.Reach, l.TTL = "etcd at "+c.addresses(), c.reach, time.Duration(c.ttl)*time.Second
	s := &store{config: c, link: l, tokens: credentials.NewPerRPCCredentialBundle()}
	s.tokens.UpdateAuthToken(c.jwt)
	return s
}

// current returns the client that has answered last.
func (s *store) current() (c *clientv3.Client, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		s.client, err = s.newClient()
	}
	return s.client, err
}

// replace makes another client the current one, unless a request beside this one has replaced the silent one already.
func (s *store) replace(silent, c *clientv3.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == silent {
		s.client, c = c, silent
	}
	go c.Close() // its requests are made again by the current one
}

// newClient returns a client that has connections of its own to all addresses. So it reaches only servers that are
// alive, and perhaps others where one address stands for several.
func (s *store) newClient() (*clientv3.Client, error) {
	conf := s.connection
	conf.MaxUnaryRetries = 1 // ask makes the attempts
	conf.DialOptions = []grpc.DialOption{
		grpc.WithConnectParams(grpc.ConnectParams{
			// By default a server that was away for a while is not tried again for up to two minutes.
			Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2,
				MaxDelay: time.Second},
			MinConnectTimeout: max(s.reach, 5*time.Second),
		}),
		grpc.WithChainUnaryInterceptor(failFast),
		// The client's own user would have the password checked again for each stream, which costs etcd a tenth of a
		// second.
		grpc.WithPerRPCCredentials(s.tokens.PerRPCCredentials()),
	}
	return clientv3.New(conf)
}

// failFast makes a request fail when no server can be connected, with the reason. By default it would wait for its
// deadline, and have that for a reason.
func failFast(ctx context.Context, method string, request, answer any, c *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption) error {
	return invoke(ctx, method, request, answer, c, append(options, grpc.WaitForReady(false))...)
}

// A call is one attempt to make a request. It must have the same effect however often it is made.
type call[T any] func(context.Context, *clientv3.Client) (T, error)

// ask makes a request until there is an answer or the context ends: by the current client and, when that is silent, by
// new ones, too.
func ask[T any](ctx context.Context, s *store, call call[T]) (answer T, err error) {
	first, err := s.current()
	if err != nil {
		return answer, err
	}
	if _, err := s.logIn(ctx); err != nil {
		return answer, err
	}
	return lease.Ask(ctx, s.link, func(ctx context.Context, anew bool) (answer T, err error) {
		get := s.current
		if anew {
			get = s.newClient
		}
		c, err := get()
		if err != nil {
			return answer, err
		}
		answer, err = attempt(ctx, s, c, call)
		switch {
		case !anew:
		case ctx.Err() == nil && !isUnanswered(err):
			s.replace(first, c)
		default:
			go c.Close()
		}
		return answer, err
	})
}

// attempt makes one attempt by a client.
func attempt[T any](ctx context.Context, s *store, c *clientv3.Client, call call[T]) (answer T, err error) {
	token, err := s.logIn(ctx)
	if err != nil {
		return answer, err
	}
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if answer, err = call(limited, c); lacksUser(err) {
		s.token.CompareAndSwap(token, nil) // the next attempt asks for another one
	}
	return answer, s.classify(err)
}

// logIn returns the token that stands for user and password in all requests; without a user it returns nil. All who
// need one wait for the same question, and that does not end with them: etcd checks a password to the end, whoever is
// interested.
func (s *store) logIn(ctx context.Context) (*string, error) {
	if token := s.token.Load(); token != nil || s.user == "" {
		return token, nil
	}
	select {
	case r := <-s.login.DoChan("", func() (any, error) { return nil, s.authenticate() }):
		return s.token.Load(), r.Err
	case <-ctx.Done():
		return nil, s.link.Unreachable(ctx)
	}
}

// authenticate asks one server after the other for a token. Each has all the time that the check of the password takes,
// once it is connected.
func (s *store) authenticate() error {
	var pauses lease.Backoff
	first := rand.IntN(len(s.endpoints))
	for n, began := 1, time.Now(); ; n++ {
		token, err := s.authenticateAt(s.endpoints[(first+n)%len(s.endpoints)])
		if err == nil {
			s.tokens.UpdateAuthToken(token)
			s.token.Store(&token)
		}
		if err = s.classify(err); s.link.TakeNote(err) {
			return err
		}
		limit, wasAsked := s.link.Limit(), n >= len(s.endpoints) // each of them, once
		if limit > 0 && time.Since(began) > limit && wasAsked {
			return s.link.Unreachable(context.Background())
		}
		time.Sleep(pauses.Next(0))
	}
}

func (s *store) authenticateAt(endpoint string) (token string, err error) {
	c, err := s.current()
	if err != nil {
		return "", err
	}
	conn, err := c.Dial(endpoint)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	time.AfterFunc(lease.ToConnect, func() {
		if conn.GetState() != connectivity.Ready {
			conn.Close()
		}
	})
	r, err := etcdserverpb.NewAuthClient(conn).Authenticate(context.Background(),
		&etcdserverpb.AuthenticateRequest{Name: s.user, Password: s.password})
	if err = rpctypes.Error(err); errors.Is(err, rpctypes.ErrAuthNotEnabled) {
		err = nil
	}
	return r.GetToken(), err
}

// watch tells when so many of the keys that keep a place out are deleted, or may be: its server has no leader or no
// connection, or has forgotten the revision. A server that is frozen tells nothing.
func (s *store) watch(ctx context.Context, key string, after int64, deleted int) <-chan struct{} {
	options := []clientv3.OpOption{clientv3.WithRev(after + 1), clientv3.WithFilterPut()}
	if strings.HasSuffix(key, "/") {
		options = append(options, clientv3.WithPrefix())
	}
	changed := make(chan struct{})
	go func() { // the client's own call waits for an answer
		if c, err := s.current(); err == nil {
			for r := range c.Watch(clientv3.WithRequireLeader(ctx), key, options...) {
				if deleted -= len(r.Events); deleted <= 0 {
					close(changed)
					return
				}
			}
		}
		time.AfterFunc(new(lease.Backoff).Next(0), func() { close(changed) })
	}()
	return changed
}

// warnOfOld says so if a server is so old that it may end leases that are alive.
func (s *store) warnOfOld() {
	version, err := ask(context.Background(), s, func(ctx context.Context, c *clientv3.Client) (string, error) {
		r, err := etcdserverpb.NewMaintenanceClient(c.ActiveConnection()).Status(ctx, &etcdserverpb.StatusRequest{})
		return r.GetVersion(), err
	})
	if err == nil && isOld(version) {
		s.link.Note("etcd " + sys.Printable(version) + " can end the lock of a holder that is alive\n" +
			"use 3.5.13 (or 3.4.31) or later")
	}
}

// isOld reports whether this is a version before 3.4.31, or of 3.5 before 3.5.13.
func isOld(version string) bool {
	var major, minor, patch int
	fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch)
	return major == 3 && (minor < 4 || minor == 4 && patch < 31 || minor == 5 && patch < 13)
}
