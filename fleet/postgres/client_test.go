package main

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"example.org/flock/fleet/lease"
)

// serve answers a client as PostgreSQL does, as far as it needs that: BEGIN begins a transaction, FAIL fails, ROLLBACK
// ends it. After SILENCE nothing is answered.
func serve(conn net.Conn) {
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
			switch statement {
			case "SILENCE":
				isSilent = true
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
			address, err := pgconn.ParseConfig("postgres://cron@127.0.0.1/fleet?sslmode=disable")
			if err != nil {
				t.Fatal(err)
			}
			address.DialFunc = func(context.Context, string, string) (net.Conn, error) {
				client, server := net.Pipe()
				go serve(server)
				return client, nil
			}
			s := newStore(config{connection: address}, &lease.Link{})
			ctx, cancel := context.WithCancel(t.Context())
			attempt(ctx, s, nil, func(ctx context.Context, w *session) (none struct{}, err error) {
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
