//go:build unix

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
)

// logIn returns the token that stands for user and password in all requests; without a user it returns nil. All who need one
// wait for the same question, and that does not end with them: etcd checks a password to the end, whoever is interested.
func (s *store) logIn(ctx context.Context) (*string, error) {
	if token := s.token.Load(); token != nil || s.user == "" {
		return token, nil
	}
	select {
	case r := <-s.login.DoChan("", func() (any, error) { return s.authenticate() }):
		return r.Val.(*string), r.Err
	case <-ctx.Done():
		return nil, s.unreachable(ctx)
	}
}

// authenticate asks one server after the other for a token. Each has all the time that the check of the password takes, once
// it is connected.
func (s *store) authenticate() (token *string, err error) {
	began := time.Now()
	first := rand.IntN(len(s.endpoints))
	for n, pause := 0, firstPause; ; n, pause = n+1, min(2*pause, longestPause) {
		token, err = s.authenticateAt(s.endpoints[(first+n)%len(s.endpoints)])
		if err == nil {
			s.tokens.UpdateAuthToken(*token)
			s.token.Store(token)
		}
		if s.note(err) {
			return token, s.finalError(err)
		}
		if s.isLimited() && time.Since(began) > s.limit && n+1 >= len(s.endpoints) { // each was asked once
			return nil, s.unreachable(context.Background())
		}
		time.Sleep(jitter(pause))
	}
}

func (s *store) authenticateAt(endpoint string) (token *string, err error) {
	c, err := s.client(0)
	if err != nil {
		return nil, err
	}
	conn, err := c.Dial(endpoint)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	time.AfterFunc(toConnect, func() {
		if conn.GetState() != connectivity.Ready {
			cancel()
		}
	})
	r, err := etcdserverpb.NewAuthClient(conn).Authenticate(ctx, &etcdserverpb.AuthenticateRequest{Name: s.user, Password: s.password})
	switch err = rpctypes.Error(err); {
	case errors.Is(err, rpctypes.ErrAuthNotEnabled):
		return new(string), nil
	case ctx.Err() != nil:
		err = status.Error(codes.Unavailable, silent)
	}
	t := r.GetToken()
	return &t, s.hopeless(err)
}
