//go:build unix

package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
)

// A member is one server of etcd. Each has a client of its own, so that whoever asks decides which one is asked, and knows
// which one has said what.
type member struct {
	endpoint string

	mu     sync.Mutex
	client *clientv3.Client // nil: it was not asked yet
	err    error            // of the last attempt
}

// connect returns the client of the member. It does not wait for a connection.
func (m *member) connect(s *store) (*clientv3.Client, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client != nil {
		return m.client, nil
	}
	c, err := clientv3.New(clientv3.Config{
		Endpoints:            []string{m.endpoint},
		TLS:                  s.tls,
		Logger:               zap.NewNop(),
		MaxUnaryRetries:      1, // try makes the attempts, and knows why one failed
		DialKeepAliveTime:    s.keepAliveTime,
		DialKeepAliveTimeout: s.keepAliveTimeout,
		DialOptions: []grpc.DialOption{
			grpc.WithConnectParams(grpc.ConnectParams{
				// By default a member that was away for a while is not tried again for up to two minutes.
				Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
				MinConnectTimeout: max(s.reach, 5*time.Second),
			}),
			grpc.WithChainUnaryInterceptor(failFast),
			grpc.WithPerRPCCredentials(&s.token),
		},
	})
	if err == nil {
		m.client = c
	}
	return c, err
}

// failFast makes a request fail when the member cannot be connected, with the reason. By default it would wait for its
// deadline, and have that for a reason.
func failFast(ctx context.Context, method string, request, answer any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	return invoke(ctx, method, request, answer, c, append(options, grpc.WaitForReady(false))...)
}

func (m *member) note(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

func (m *member) isConnected() bool { return m.state() == connectivity.Ready }

// state returns that of the connection.
func (m *member) state() connectivity.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client == nil {
		return connectivity.Idle
	}
	return m.client.ActiveConnection().GetState()
}

// silence tells when the member is not connected after the time d, or then does not answer a question in twice that time, but
// no less than the time in which a member answers that checks many passwords. It is asked again and again until the context
// ends.
//
// The question is one that a member answers only if a majority is with it, as is the check of a password; and that a member
// answers without a right to, if only by refusing it.
func (m *member) silence(ctx context.Context, d time.Duration) <-chan time.Time {
	const ofBusy = 2 * time.Second
	silent := make(chan time.Time, 1)
	go func() {
		for answers := true; answers; {
			select {
			case <-time.After(d):
				answers = m.isConnected() && m.answers(ctx, max(2*d, ofBusy))
			case <-ctx.Done():
				return
			}
		}
		silent <- time.Now()
	}()
	return silent
}

func (m *member) answers(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := etcdserverpb.NewKVClient(m.client.ActiveConnection()).Range(ctx, &etcdserverpb.RangeRequest{Key: []byte{0}, CountOnly: true})
	switch status.Code(err) {
	case codes.DeadlineExceeded, codes.Canceled, codes.Unavailable:
		return false
	}
	return true
}

// excuse says why there is no answer of the member.
func (m *member) excuse() string {
	state := m.state()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.err != nil:
		return describe(m.err)
	case state == connectivity.Ready:
		return "it is connected, but does not answer"
	case m.client == nil:
		return "it was not asked"
	}
	return "no connection"
}

// A token stands for the user and the password in all requests; nil or empty: there is none.
//
// The client of etcd would check the password again for each new stream, which costs a member of etcd a tenth of a second of
// its processor, or much more.
type token struct{ atomic.Pointer[string] }

func (t *token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if text := t.Load(); text != nil && *text != "" {
		return map[string]string{rpctypes.TokenFieldNameGRPC: *text}, nil
	}
	return nil, nil
}

func (t *token) RequireTransportSecurity() bool { return false }

// logIn returns the token. If there is a user and no token yet, it asks etcd for one; without a user it returns nil. All who
// need one wait for the same question, and that does not end with them: etcd checks a password to the end, whoever is
// interested.
func (s *store) logIn(ctx context.Context) (*string, error) {
	if s.user == "" {
		return nil, nil // there may be a token from elsewhere
	}
	if text := s.token.Load(); text != nil {
		return text, nil
	}
	select {
	case r := <-s.login.DoChan("", func() (any, error) {
		text, err := s.token.Load(), error(nil)
		if text == nil {
			if text, err = s.authenticate(); err == nil && s.token.CompareAndSwap(nil, text) {
				s.refreshBeforeEnd(text)
			}
		}
		return text, err
	}):
		return r.Val.(*string), r.Err
	case <-ctx.Done():
		return nil, s.unreachable()
	}
}

// refreshBeforeEnd asks for another token before this one ends, if it is a JWT, which says when. Those that were given to
// many at one moment end at one moment, and to check all of their passwords then could take etcd longer than the leases
// last.
func (s *store) refreshBeforeEnd(token *string) {
	const least = 5 * time.Second // where the clock of the member is behind ours
	var claims struct{ Exp int64 }
	parts := strings.Split(*token, ".")
	if len(parts) != 3 {
		return
	}
	text, _ := base64.RawURLEncoding.DecodeString(parts[1])
	if json.Unmarshal(text, &claims) != nil {
		return
	}
	life := time.Until(time.Unix(claims.Exp, 0))
	if life <= 0 {
		return
	}
	time.AfterFunc(max(life/4+rand.N(life/2), least), func() {
		if s.token.Load() != token {
			return // it was refused, and another one is there or under way
		}
		if text, err := s.authenticate(); err == nil && s.token.CompareAndSwap(token, text) {
			s.refreshBeforeEnd(text)
		}
	})
}

// authenticate asks etcd for a token. One member is asked, and it has all the time that the check of the password takes. A
// second one is asked only where this one is silent meanwhile: it may be frozen, or cut off from the others.
func (s *store) authenticate() (*string, error) {
	p := pace{second: forever, third: forever}
	if len(s.members) > 1 {
		d := min(max(s.reach/4, 250*time.Millisecond), 1250*time.Millisecond)
		p = pace{second: d, third: d, patient: true}
	}
	return try(context.Background(), s, p, func(ctx context.Context, c *clientv3.Client) (*string, error) {
		r, err := etcdserverpb.NewAuthClient(c.ActiveConnection()).
			Authenticate(ctx, &etcdserverpb.AuthenticateRequest{Name: s.user, Password: s.password})
		if err = rpctypes.Error(err); errors.Is(err, rpctypes.ErrAuthNotEnabled) {
			return new(string), nil
		}
		if err != nil {
			return nil, err
		}
		return &r.Token, nil
	})
}
