//go:build unix

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.org/flock/internal/sys"
)

// A store is etcd, as far as one lock goes.
//
// The keys of the lock NAME, whose slashes are escaped, so that no lock lies within another:
//
//	PREFIX/NAME/line/x/LEASE    an exclusive contender, with its lease
//	PREFIX/NAME/line/s/LEASE    a shared one
//	PREFIX/NAME/line/p/LEASE    one for a permit
//	PREFIX/NAME/cooldown        exists during a cooldown, whose lease it has
type store struct {
	config
	name     string // of the lock, for messages
	line     string // prefix of the contenders' keys
	cooldown string // key

	reached    atomic.Bool // etcd has answered
	repeated   atomic.Bool // a request was made more than once
	connecting sync.Mutex
	client     *clientv3.Client
	streams    chan *keepAliveStream // that wait for use
}

func newStore(c config, name string) *store {
	base := c.prefix + "/" + url.PathEscape(name) + "/"
	return &store{config: c, name: sys.Printable(name), line: base + "line/", cooldown: base + "cooldown",
		streams: make(chan *keepAliveStream, 2)}
}

// An unreachableError says that etcd did not answer in time.
type unreachableError struct {
	addresses string
	err       error // why, if that is known
}

func (e *unreachableError) Error() string {
	text := "cannot reach etcd at " + e.addresses + " in time"
	if e.err != nil {
		text += ": " + describe(e.err)
	}
	return text
}

// A storeError is an answer of etcd that stays the same however often one asks.
type storeError struct{ err error }

func (e *storeError) Error() string { return "etcd refuses: " + describe(e.err) }
func (e *storeError) Unwrap() error { return e.err }

// describe returns the text of an error as one line, without grpc's words around it.
func describe(err error) string {
	text := err.Error()
	if s, ok := status.FromError(err); ok {
		text = s.Message()
	}
	if inner, wrapped := strings.CutPrefix(text, `connection error: desc = "`); wrapped {
		text = strings.TrimSuffix(inner, `"`)
	}
	text = strings.TrimPrefix(strings.TrimPrefix(text, "transport: "), "Error while dialing: ")
	if strings.HasPrefix(text, "error reading server preface: ") {
		text = "it is connected, but does not answer"
	}
	return sys.Printable(text)
}

// code returns the code of an answer of etcd.
func code(err error) codes.Code {
	var known rpctypes.EtcdError
	if errors.As(err, &known) {
		return known.Code()
	}
	return status.Code(err)
}

// isFinal reports whether another attempt would have the same answer. What may be tried again is listed; all else is final.
func isFinal(err error) bool {
	for _, again := range []error{
		rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision, // the client gets a new token
		rpctypes.ErrTooManyRequests,
		rpctypes.ErrNotLeader, rpctypes.ErrGRPCNotSupportedForLearner, // another member can
		errNewLeader, context.DeadlineExceeded, context.Canceled,
	} {
		if errors.Is(err, again) {
			return false
		}
	}
	switch code(err) {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.Internal:
		return false // connections, and members that stop
	}
	return true
}

// connect makes the client. With a user it asks etcd for a token.
func (s *store) connect() (*clientv3.Client, error) {
	s.connecting.Lock()
	defer s.connecting.Unlock()
	if s.client != nil {
		return s.client, nil
	}
	first := rand.IntN(len(s.endpoints)) // connections to the others would only slow a short run down
	c, err := clientv3.New(clientv3.Config{
		Endpoints:            s.endpoints[first : first+1],
		TLS:                  s.tls,
		Username:             s.user,
		Password:             s.password,
		Logger:               zap.NewNop(),
		MaxUnaryRetries:      1,                         // ask makes the attempts, and knows why one failed
		DialTimeout:          min(time.Second, s.reach), // for the token; for nothing else here
		DialKeepAliveTime:    10 * time.Second,          // finds members that are frozen; a server of etcd allows no less than 5
		DialKeepAliveTimeout: 3 * time.Second,
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			// By default a member that was away for a while is not tried again for up to two minutes.
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: time.Second,
		}), grpc.WithChainUnaryInterceptor(failFast)},
	})
	if err == nil {
		s.client = c
	}
	return c, err
}

// failFast makes a request fail when no member can be connected, with the reason. By default it would wait for its deadline,
// and have that for a reason.
func failFast(ctx context.Context, method string, request, answer any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	return invoke(ctx, method, request, answer, c, append(options, grpc.WaitForReady(false))...)
}

// ask makes a request until a member answers or the context ends. A member may be frozen, so ask does not wait long for one
// before it asks the next one, too. The call must have the same effect however often it is made.
func ask[T any](ctx context.Context, s *store, call func(ctx context.Context, c *clientv3.Client) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		answer T
		err    error
	}
	results := make(chan result)
	attempt := func() {
		var r result
		c, err := s.connect()
		if err == nil {
			r.answer, err = call(ctx, c)
		}
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			err = errLost
		}
		r.err = err
		select {
		case results <- r:
		case <-ctx.Done():
		}
	}
	cause, pause := error(nil), 30*time.Millisecond
	for patience := 250 * time.Millisecond; ; patience = min(2*patience, 4*time.Second) {
		go attempt()
		next := time.After(patience)
		for waiting := true; waiting; {
			select {
			case r := <-results:
				switch {
				case r.err == nil || errors.Is(r.err, errLost):
					s.reached.Store(true)
					return r.answer, r.err
				case isFinal(r.err):
					return answer, &storeError{r.err}
				}
				cause = r.err
				next = time.After(pause)
				pause = min(2*pause, time.Second)
			case <-next:
				waiting = false
				s.repeated.Store(true)
				s.useAll()
			case <-ctx.Done():
				return answer, &unreachableError{s.addresses(), cause}
			}
		}
	}
}

// useAll makes requests go to all members, and not only to the first one.
func (s *store) useAll() {
	if !s.connecting.TryLock() {
		return // there is no client yet
	}
	defer s.connecting.Unlock()
	if s.client != nil && len(s.client.Endpoints()) < len(s.endpoints) {
		s.client.SetEndpoints(s.endpoints...)
	}
}

// do is ask for a request without an answer.
func (s *store) do(ctx context.Context, call func(ctx context.Context, c *clientv3.Client) error) error {
	_, err := ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (struct{}, error) { return struct{}{}, call(ctx, c) })
	return err
}

// begin limits a context to the time in which etcd must be reached at the beginning. Who has reached it once waits until it
// is back.
func (s *store) begin(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.reached.Load() {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, s.reach)
}
