package main

import (
	"context"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"example.org/flock/fleet/lease"
)

// serve answers a client as PostgreSQL does, as far as it needs that: BEGIN begins a transaction, FAIL fails, ROLLBACK
// ends it. After a statement that begins with a word nothing is answered.
func serve(conn net.Conn, silentAfter string) {
	defer conn.Close()
	b := pgproto3.NewBackend(conn, conn)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	status, isSilent := byte('I'), false
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: status})
	for b.Flush() == nil {
		m, err := b.Receive()
		query, isQuery := m.(*pgproto3.Query)
		if err != nil || !isQuery {
			return
		}
		for _, statement := range strings.Split(query.String, ";\n") {
			isSilent = isSilent || strings.HasPrefix(statement, silentAfter)
			switch statement {
			case "BEGIN":
				status = 'T'
			case "ROLLBACK":
				status = 'I'
			}
			if isSilent {
				continue
			}
			if statement == "FAIL" {
				status = 'E'
				b.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "40001", Message: "no"})
				break
			}
			b.Send(&pgproto3.CommandComplete{CommandTag: []byte(statement)})
		}
		if !isSilent {
			b.Send(&pgproto3.ReadyForQuery{TxStatus: status})
		}
	}
}

// serveStore returns a store whose connections are served.
func serveStore(t *testing.T, silentAfter string) *store {
	t.Helper()
	address, err := pgconn.ParseConfig("postgres://cron@127.0.0.1/fleet?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	address.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go serve(server, silentAfter)
		return client, nil
	}
	return newStore(config{connection: address}, &lease.Link{})
}

// TestListenInTime has a waiter ask for notifications while its connection, or the one beside it, becomes silent. It
// comes back from that, since it has to renew its row.
func TestListenInTime(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"LISTEN", "NOTIFY", "UNLISTEN", "never"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			s := serveStore(t, at)
			s.link.TakeNote(nil)
			w, err := s.connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s.keep(w)
			c := &contender{store: s, key: randomKey(), standing: standing{waiting: 1, changes: math.MaxInt64}}
			paused := make(chan struct{})
			go func() {
				c.Wait(t.Context(), lease.Now()+time.Minute)
				close(paused)
			}()
			select {
			case <-paused:
			case <-time.After(20 * time.Second):
				t.Fatal("it waits in vain")
			}
			if isKept := s.take() != nil; isKept != (at == "NOTIFY" || at == "never") {
				t.Errorf("the connection is kept: %v", isKept)
			}
		})
	}
}

// TestKeep has attempts end with a connection in each of its states, in time or not. What is kept of it is not in a
// transaction: the next request begins one.
func TestKeep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		m    []message
		over bool // the attempt is, when it ends
		kept bool
	}{
		{"idle", []message{{"SELECT"}}, false, true},
		{"idle, over", []message{{"SELECT"}}, true, true},
		{"in a transaction", []message{{"BEGIN"}}, false, true},
		{"in a transaction, over", []message{{"BEGIN"}}, true, true},
		{"in a failed transaction", []message{{"BEGIN", "FAIL"}}, false, true},
		{"in a failed transaction, over", []message{{"BEGIN", "FAIL"}}, true, true},
		{"silent", []message{{"BEGIN"}, {"SILENCE"}}, false, false},
		{"closed", []message{{"BEGIN"}, nil}, false, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			s := serveStore(t, "SILENCE")
			ctx, cancel := context.WithCancel(t.Context())
			attempt(ctx, s, true, func(ctx context.Context, w *session) (none struct{}, err error) {
				for _, m := range c.m {
					if m == nil {
						w.close()
					} else {
						_, err = w.send(ctx, m)
					}
				}
				if c.over {
					cancel()
				}
				return none, err
			})
			w := s.take()
			if isKept := w != nil; isKept != c.kept {
				t.Fatalf("kept: %v", isKept)
			}
			if !c.kept {
				return
			}
			if !w.isIdle() {
				t.Errorf("it is kept with the status %c", w.conn.TxStatus())
			}
			w.close()
		})
	}
}
