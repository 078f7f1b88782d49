//go:build unix

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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
	away     func(error)   // see lease.Request
	patience time.Duration // after which etcd counts as away; 0: never

	mu      sync.Mutex
	clients []*clientv3.Client             // two at most; the first is the one that has answered last
	heard   map[*clientv3.Client]time.Time // when a client has answered last
	last    error                          // of an attempt that has failed since
	token   *string                        // if there is a user; nil: not yet
	tokens  credentials.PerRPCCredentialsBundle
	login   singleflight.Group

	versions sync.Once     // see warnOfOld
	reached  atomic.Bool   // etcd has answered
	isAway   atomic.Bool   // away was told so
	slowness atomic.Int64  // how long the last answer took
	repeats  atomic.Int64  // how many requests were made more than once
	limit    time.Duration // for an answer, if etcd has not answered yet or always counts; 0: there is none
	always   bool
}

func newStore(c config) *store {
	s := &store{config: c, heard: map[*clientv3.Client]time.Time{}, tokens: credentials.NewPerRPCCredentialBundle(), limit: c.reach}
	s.tokens.UpdateAuthToken(c.jwt)
	return s
}

func (s *store) isLimited() bool { return s.limit > 0 && (s.always || !s.reached.Load()) }

// client returns the client that has answered last, or another one than that which is silent. Each has connections of its
// own to all addresses, so a new one reaches only servers that are alive, and others where one address stands for several.
func (s *store) client(silent *clientv3.Client) (*clientv3.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients {
		if c != silent {
			return c, nil
		}
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
	c, err := clientv3.New(conf)
	if err == nil {
		s.clients = append(s.clients, c)
	}
	return c, err
}

// failFast makes a request fail when no server can be connected, with the reason. By default it would wait for its deadline,
// and have that for a reason.
func failFast(ctx context.Context, method string, request, answer any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	return invoke(ctx, method, request, answer, c, append(options, grpc.WaitForReady(false))...)
}

// forget closes a client, unless it has answered another question since.
func (s *store) forget(c *clientv3.Client, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heard[c].After(since) {
		return
	}
	s.clients = slices.DeleteFunc(s.clients, func(other *clientv3.Client) bool { return other == c })
	go c.Close()
}

// An attempt is one request.
type attempt[T any] struct {
	client *clientv3.Client
	began  time.Time
	cancel context.CancelFunc
	answer T
	err    error
}

// isDialing reports whether an attempt is not connected yet, so that its silence means nothing.
func (a *attempt[T]) isDialing() bool {
	return !a.isConnected() && time.Since(a.began) < 1250*time.Millisecond
}

func (a *attempt[T]) isConnected() bool {
	return a.client != nil && a.client.ActiveConnection().GetState() == connectivity.Ready
}

// The pauses after a failed attempt grow, and differ from process to process.
const firstPause, longestPause = 50 * time.Millisecond, time.Second

func jitter(pause time.Duration) time.Duration { return pause/2 + rand.N(pause) }

// pace is how long an answer is waited for before a second attempt is made. A server may be frozen, so it is not long; but a
// slow etcd is not asked twice each time.
func (s *store) pace() time.Duration {
	return min(max(250*time.Millisecond, 2*time.Duration(s.slowness.Load())), time.Second)
}

// ask makes a request until there is an answer or the context ends. The call must have the same effect however often it is
// made.
func ask[T any](ctx context.Context, s *store, call func(context.Context, *clientv3.Client) (T, error)) (answer T, err error) {
	return askAt(ctx, s, s.pace(), call)
}

// askAt is ask at another pace.
func askAt[T any](ctx context.Context, s *store, pace time.Duration, call func(context.Context, *clientv3.Client) (T, error)) (answer T, err error) {
	for pause := firstPause; ; pause *= 2 {
		token, err := s.logIn(ctx)
		if err == nil {
			answer, err = try(ctx, s, pace, call)
		}
		again := sys.Is(err, rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision, rpctypes.ErrUserEmpty) && s.jwt == "" &&
			(token != nil || errors.Is(err, rpctypes.ErrAuthOldRevision)) // of a certificate, whose revision is read each time
		if !again || pause > longestPause || ctx.Err() != nil {
			return answer, s.advise(err)
		}
		s.dropToken(token)
		time.Sleep(jitter(pause))
	}
}

// try makes attempts until there is an answer: another one, by another client, when one is silent, or when one has failed.
// There are never more than two at a time. If both are silent for long, they are given up with their clients.
func try[T any](ctx context.Context, s *store, pace time.Duration, call func(context.Context, *clientv3.Client) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var away <-chan time.Time
	if s.isLimited() {
		ctx, cancel = context.WithTimeout(ctx, s.limit)
		defer cancel()
	} else if s.patience > 0 {
		away = time.After(max(s.patience, 2*time.Duration(s.slowness.Load()))) // slow is not away
	}
	ended, next, pause := make(chan *attempt[T]), time.NewTimer(0), firstPause/2
	var running []*attempt[T] // the oldest first
	for {
		select {
		case <-next.C:
			var silent *clientv3.Client
			switch len(running) {
			case 1:
				if running[0].isDialing() {
					next.Reset(firstPause)
					continue
				}
				silent = running[0].client
				s.repeats.Add(1)
			case 2:
				for _, a := range running {
					a.cancel()
					s.forget(a.client, a.began)
				}
				running = nil
			}
			running = append(running, begin(ctx, s, silent, call, ended))
			if next.Reset(pace); silent != nil {
				next.Reset(max(3*pace, 5*time.Second))
			}
		case a := <-ended:
			if !slices.Contains(running, a) {
				continue // it was given up
			}
			if running = slices.DeleteFunc(running, func(b *attempt[T]) bool { return a == b }); s.take(a.client, a.began, a.err) {
				return a.answer, finalError(a.err)
			}
			s.repeats.Add(1)
			pause = min(2*pause, longestPause)
			if a.isConnected() {
				pause = max(pause, time.Since(a.began)) // it is busy, perhaps with others who ask at the same time
			}
			next.Reset(min(jitter(pause), pace))
		case <-away:
			if !s.isAway.Swap(true) {
				s.away(errors.New(s.reason()))
			}
		case <-ctx.Done():
			return answer, s.unreachable()
		}
	}
}

// begin begins an attempt.
func begin[T any](ctx context.Context, s *store, silent *clientv3.Client, call func(context.Context, *clientv3.Client) (T, error), ended chan<- *attempt[T]) *attempt[T] {
	ctx, cancel := context.WithCancel(ctx)
	a := &attempt[T]{began: time.Now(), cancel: cancel}
	a.client, a.err = s.client(silent)
	go func() {
		if a.err == nil {
			a.answer, a.err = call(ctx, a.client)
		}
		a.err = s.hopeless(a.err)
		select {
		case ended <- a:
		case <-ctx.Done():
		}
	}()
	return a
}

// take takes note of an answer, and reports whether it is final.
func (s *store) take(c *clientv3.Client, began time.Time, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && mayTryAgain(err) {
		s.last = err
		return false
	}
	s.last, s.heard[c] = nil, time.Now()
	s.slowness.Store(int64(time.Since(began)))
	s.reached.Store(true)
	if len(s.clients) == 2 && s.clients[1] == c {
		slices.Reverse(s.clients)
	}
	if s.isAway.Swap(false) {
		go s.away(nil)
	}
	return true
}

// watch tells when so many of the keys that a view depends on are deleted, or may be: its server has no leader or no
// connection, or has forgotten the revision. A server that is frozen tells nothing.
func (s *store) watch(ctx context.Context, v view) (changed <-chan struct{}, stop func()) {
	ctx, stop = context.WithCancel(clientv3.WithRequireLeader(ctx))
	options := []clientv3.OpOption{clientv3.WithRev(v.revision + 1), clientv3.WithFilterPut()}
	if v.watch[len(v.watch)-1] == '/' {
		options = append(options, clientv3.WithPrefix())
	}
	tell := make(chan struct{})
	go func() { // the client's own call waits for an answer
		if c, err := s.client(nil); err == nil {
			for r := range c.Watch(ctx, v.watch, options...) {
				if v.deleted -= len(r.Events); v.deleted <= 0 {
					close(tell)
					return
				}
			}
		}
		time.AfterFunc(jitter(firstPause), func() { close(tell) })
	}()
	return tell, stop
}
