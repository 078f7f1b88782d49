package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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

	"example.org/flock/internal/sys"
)

// A store is etcd, as somebody asks it.
type store struct {
	config
	tell     func(error)   // see lease.Request
	nonblock bool          // the limit is for each answer until the lock is held, not only for the first one
	limit    time.Duration // 0: there is none
	held     atomic.Bool   // the lock

	mu      sync.Mutex
	clients [2]*clientv3.Client
	last    error // of an attempt that has failed since etcd has answered last

	token  atomic.Pointer[string] // if there is a user; nil: not yet
	tokens credentials.PerRPCCredentialsBundle
	login  singleflight.Group

	reached  atomic.Bool  // etcd has answered
	isAway   atomic.Bool  // that was told
	slowness atomic.Int64 // how long the last answer took, but for a login
	repeats  atomic.Int64 // how many requests were made more than once
}

func newStore(c config) *store {
	s := &store{config: c, tell: func(error) {}, limit: c.reach, tokens: credentials.NewPerRPCCredentialBundle()}
	s.tokens.UpdateAuthToken(c.jwt)
	s.slowness.Store(int64(toConnect / 2))
	return s
}

func (s *store) isLimited() bool {
	return s.limit > 0 && !s.held.Load() && (s.nonblock || !s.reached.Load())
}

// client returns the client of the library that has answered last, or another one instead of that which is silent. Each has
// connections of its own to all addresses, so a new one reaches only servers that are alive, and others where one address
// stands for several.
func (s *store) client(silent *clientv3.Client) (c *clientv3.Client, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	if silent != nil && silent == s.clients[0] {
		n = 1
	}
	if s.clients[n] != nil {
		return s.clients[n], nil
	}
	conf := s.connection
	conf.MaxUnaryRetries = 1 // ask makes the attempts
	conf.DialOptions = []grpc.DialOption{
		grpc.WithConnectParams(grpc.ConnectParams{
			// By default a server that was away for a while is not tried again for up to two minutes.
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: max(s.reach, 5*time.Second),
		}),
		grpc.WithChainUnaryInterceptor(failFast),
		// The client's own user would have the password checked again for each stream, which costs etcd a tenth of a second.
		grpc.WithPerRPCCredentials(s.tokens.PerRPCCredentials()),
	}
	s.clients[n], err = clientv3.New(conf)
	return s.clients[n], err
}

// failFast makes a request fail when no server can be connected, with the reason. By default it would wait for its deadline,
// and have that for a reason.
func failFast(ctx context.Context, method string, request, answer any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	return invoke(ctx, method, request, answer, c, append(options, grpc.WaitForReady(false))...)
}

// The pauses after a failed attempt grow, and differ from process to process.
const firstPause, longestPause = 50 * time.Millisecond, time.Second

func jitter(pause time.Duration) time.Duration { return pause/2 + rand.N(pause) }

// toConnect is how long a connection may take before a server counts as silent.
const toConnect = 1250 * time.Millisecond

// pace is how long an answer is waited for before a second attempt is made. A server may be frozen, so it is not long; but a
// connection takes a while, and a slow etcd is not asked twice each time.
func (s *store) pace() time.Duration {
	return min(max(250*time.Millisecond, 2*time.Duration(s.slowness.Load())), toConnect)
}

// patience is how long an answer is waited for before etcd counts as away. Slow is not away.
func (s *store) patience() time.Duration {
	tenths := time.Duration(4)
	if s.held.Load() {
		tenths = 2
	}
	return max(time.Duration(s.ttl)*time.Second*tenths/10, 2*time.Duration(s.slowness.Load()))
}

// ask makes a request until there is an answer or the context ends: attempts by one client and, when that is silent, by
// another one, too. The call must have the same effect however often it is made.
func ask[T any](ctx context.Context, s *store, call func(context.Context, *clientv3.Client) (T, error)) (answer T, err error) {
	if _, err := s.logIn(ctx); err != nil {
		return answer, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.isLimited() {
		ctx, cancel = context.WithTimeout(ctx, s.limit)
		defer cancel()
	} else {
		defer time.AfterFunc(s.patience(), func() {
			if !s.isAway.Swap(true) {
				s.tell(errors.New(s.reason()))
			}
		}).Stop()
	}
	answers := make(chan func() (T, error), 2)
	attempts := func(silent *clientv3.Client, wait time.Duration) {
		for pause := firstPause; ; pause = min(2*pause, longestPause) {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
			if wait > 0 {
				s.repeats.Add(1)
			}
			began := time.Now()
			if answer, err := attempt(ctx, s, silent, call); err == nil || !s.mayTryAgain(err) {
				answers <- func() (T, error) { return answer, err }
				return
			}
			wait = jitter(min(max(pause, time.Since(began)), longestPause)) // it may be busy with others who ask at the same time
		}
	}
	first, _ := s.client(nil) // the attempt tells the error
	go attempts(nil, 0)
	go attempts(first, s.pace())
	select {
	case a := <-answers:
		return a()
	case <-ctx.Done():
		return answer, s.unreachable(ctx)
	}
}

// attempt makes one attempt. The second client is given up if it is silent for long, the first one when the second one answers.
func attempt[T any](ctx context.Context, s *store, silent *clientv3.Client, call func(context.Context, *clientv3.Client) (T, error)) (answer T, err error) {
	token, err := s.logIn(ctx)
	if err != nil {
		return answer, err
	}
	c, err := s.client(silent)
	if err != nil {
		return answer, err
	}
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if answer, err = call(limited, c); ctx.Err() != nil {
		return answer, err
	}
	if lacksUser(err) {
		s.token.CompareAndSwap(token, nil) // the next attempt asks for another one
	}
	isAnswer := s.note(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case isAnswer:
		err = s.finalError(err)
		s.slowness.Store(int64(time.Since(began)))
		if s.clients[1] == c {
			slices.Reverse(s.clients[:])
		}
	case limited.Err() != nil && s.clients[1] == c:
		s.clients[1] = nil
		go c.Close()
	}
	return answer, err
}

// note takes note of how an attempt has ended, and reports whether etcd has answered.
func (s *store) note(err error) (isAnswer bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last = err; err != nil && s.mayTryAgain(err) {
		return false
	}
	s.last = nil
	s.reached.Store(true)
	if s.isAway.Swap(false) {
		go s.tell(nil)
	}
	return true
}

// logIn returns the token that stands for user and password in all requests; without a user it returns nil. All who need one
// wait for the same question, and that does not end with them: etcd checks a password to the end, whoever is interested.
func (s *store) logIn(ctx context.Context) (*string, error) {
	if token := s.token.Load(); token != nil || s.user == "" {
		return token, nil
	}
	select {
	case r := <-s.login.DoChan("", func() (any, error) { return nil, s.authenticate() }):
		return s.token.Load(), r.Err
	case <-ctx.Done():
		return nil, s.unreachable(ctx)
	}
}

// authenticate asks one server after the other for a token. Each has all the time that the check of the password takes, once
// it is connected.
func (s *store) authenticate() error {
	began, pause, first := time.Now(), firstPause, rand.IntN(len(s.endpoints))
	for n := 1; ; n++ {
		token, err := s.authenticateAt(s.endpoints[(first+n)%len(s.endpoints)])
		if err == nil {
			s.tokens.UpdateAuthToken(token)
			s.token.Store(&token)
		}
		if s.note(err) {
			return s.finalError(err)
		}
		if s.isLimited() && time.Since(began) > s.limit && n >= len(s.endpoints) { // each was asked once
			return s.unreachable(context.Background())
		}
		time.Sleep(jitter(pause))
		pause = min(2*pause, longestPause)
	}
}

func (s *store) authenticateAt(endpoint string) (token string, err error) {
	c, err := s.client(nil)
	if err != nil {
		return "", err
	}
	conn, err := c.Dial(endpoint)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	time.AfterFunc(toConnect, func() {
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

// watch tells when so many of the keys that a view depends on are deleted, or may be: its server has no leader or no
// connection, or has forgotten the revision. A server that is frozen tells nothing.
func (s *store) watch(ctx context.Context, v view) <-chan struct{} {
	options := []clientv3.OpOption{clientv3.WithRev(v.revision + 1), clientv3.WithFilterPut()}
	if v.watch[len(v.watch)-1] == '/' {
		options = append(options, clientv3.WithPrefix())
	}
	changed := make(chan struct{})
	go func() { // the client's own call waits for an answer
		if c, err := s.client(nil); err == nil {
			for r := range c.Watch(clientv3.WithRequireLeader(ctx), v.watch, options...) {
				if v.deleted -= len(r.Events); v.deleted <= 0 {
					close(changed)
					return
				}
			}
		}
		time.AfterFunc(jitter(firstPause), func() { close(changed) })
	}()
	return changed
}

// warnOfOld says so if a server is so old that it may end leases that are alive.
func (s *store) warnOfOld(warn func(string)) {
	r, err := ask(context.Background(), s, func(ctx context.Context, c *clientv3.Client) (*etcdserverpb.StatusResponse, error) {
		return etcdserverpb.NewMaintenanceClient(c.ActiveConnection()).Status(ctx, &etcdserverpb.StatusRequest{})
	})
	if err == nil && isOld(r.Version) {
		warn("etcd " + sys.Printable(r.Version) + " can end the lock of a holder that is alive: use 3.5.13 (or 3.4.31) or later")
	}
}

// isOld reports whether this is a version before 3.4.31, or of 3.5 before 3.5.13.
func isOld(version string) bool {
	var major, minor, patch int
	fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch)
	return major == 3 && (minor < 4 || minor == 4 && patch < 31 || minor == 5 && patch < 13)
}
