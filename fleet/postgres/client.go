package main

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"example.org/flock/fleet/lease"
	"example.org/flock/internal/sys"
)

// A session is a connection to the server. One request uses it at a time.
type session struct {
	conn    *pgconn.PgConn
	warning string        // that the message that was sent last may not be replicated; empty: there was none
	rung    chan struct{} // has an element when a notification has come

	hasAsked, hears bool // for notifications; they come
}

// connect makes a connection.
func (s *store) connect(ctx context.Context) (w *session, err error) {
	c := s.connection.Copy()
	c.ConnectTimeout = s.patience() / time.Duration(len(s.addresses()))
	if s.hasMetReplica.Load() && c.ValidateConnect == nil { // the name stands for several addresses, perhaps
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	w = &session{rung: make(chan struct{}, 1)}
	dial, isConnected := c.DialFunc, new(atomic.Bool)
	// For a request that is given up the library connects once more, to have it canceled. That could cancel the wait of
	// a COMMIT for the standby, and others would see what is not replicated.
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if isConnected.Load() {
			return nil, errors.New("requests are not canceled")
		}
		return dial(ctx, network, address)
	}
	c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if n.SeverityUnlocalized == "WARNING" && mayBeOfReplication(n) {
			w.warning = n.Message
		}
	}
	c.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) {
		select {
		case w.rung <- struct{}{}:
		default:
		}
	}
	w.conn, err = pgconn.ConnectConfig(ctx, c)
	isConnected.Store(true)
	return w, err
}

// mayBeOfReplication reports whether a warning may be the one that the wait for a standby was canceled. It is known by
// where it stands in the server's source. There are others, of which some come with each transaction, such as that the
// transaction ids come to an end in some weeks.
func mayBeOfReplication(n *pgconn.Notice) bool {
	isNowhere := n.Routine == "" && n.File == "" // something between has removed that
	return isNowhere || n.Routine == "SyncRepWaitForLSN" || n.File == "syncrep.c"
}

// send sends a message, and returns the result of each statement. A statement sees what was committed before it began.
func (w *session) send(ctx context.Context, m message) ([]*pgconn.Result, error) {
	w.warning = ""
	return w.conn.Exec(ctx, strings.Join(m, ";\n")).ReadAll()
}

// commit does the same, commits, and sends what is to follow that. The error is errUnsure if it may be that the
// transaction was not committed or, with a standby, not replicated: the wait for that was canceled.
func (w *session) commit(ctx context.Context, m, after message) ([]*pgconn.Result, error) {
	at := m.add(commit)
	results, err := w.send(ctx, append(m, after...))
	if err != nil {
		return nil, err
	}
	if results[at].CommandTag.String() != "COMMIT" || w.warning != "" {
		return nil, errUnsure
	}
	return results, nil
}

// wait waits for a notification, and reports whether one has come.
func (w *session) wait(ctx context.Context) bool {
	select {
	case <-w.rung:
		return true
	default:
	}
	if w.conn.WaitForNotification(ctx) != nil {
		return false
	}
	<-w.rung
	return true
}

// isIdle reports whether the connection is open and not in a transaction.
func (w *session) isIdle() bool { return !w.conn.IsClosed() && w.conn.TxStatus() == 'I' }

// close ends the connection. A server that is silent is not waited for.
func (w *session) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	w.conn.Close(ctx)
}

// A store is PostgreSQL, as somebody asks it.
type store struct {
	config
	link *lease.Link
	ttl  atomic.Int64 // nanoseconds, as the server's row has said last

	hasMetReplica atomic.Bool

	mu   sync.Mutex
	idle *session // a connection for the next request; nil: there is none
}

func newStore(c config, l *lease.Link) *store {
	l.Server, l.TTL = "PostgreSQL at "+sys.Printable(strings.Join(c.addresses(), ",")), 10*time.Second
	if c.reach > 0 {
		l.Reach = c.reach
	}
	if c.remark != "" {
		l.Note(c.remark)
	}
	s := &store{config: c, link: l}
	s.ttl.Store(int64(l.TTL))
	return s
}

// take returns the connection that is left from the last request; nil: there is none.
func (s *store) take() (w *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, s.idle = s.idle, nil
	return w
}

// keep leaves a connection for the next request, unless a transaction is open there.
func (s *store) keep(w *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle == nil && w.isIdle() {
		s.idle = w
	} else {
		go w.close()
	}
}

// disconnect closes the connection that is left, if there is one.
func (s *store) disconnect() {
	if w := s.take(); w != nil {
		w.close()
	}
}

// patience is how long a new connection and its answer may take before another one is made: it may lead to a server
// that is frozen or cut off, and a holder has the time for several.
func (s *store) patience() time.Duration {
	if !s.link.Reached() {
		return 3 * time.Second
	}
	return max(min(time.Duration(s.ttl.Load())/8, 1250*time.Millisecond), 4*s.link.Slowness())
}

// ask makes a request until there is an answer or the context ends: by the connection that is left from the last
// request and, when that is silent, by new ones, too. The former is not given up before one of these has answered: a
// server that is busy may have no other. The call must have the same effect however often it is made.
func ask[T any](ctx context.Context, s *store, call func(context.Context, *session) (T, error)) (T, error) {
	return lease.Ask(ctx, s.link, func(ctx context.Context, anew bool) (T, error) { return attempt(ctx, s, anew, call) })
}

// attempt makes one attempt, by the connection that is left or a new one.
func attempt[T any](ctx context.Context, s *store, anew bool, call func(context.Context, *session) (T, error)) (
	answer T, err error) {
	var w *session
	if !anew {
		w = s.take()
	}
	if w == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.patience())
		defer cancel()
		if w, err = s.connect(ctx); err != nil {
			return answer, s.classify(err)
		}
	}
	answer, err = call(ctx, w)
	switch {
	case isOfReplica(err):
		s.hasMetReplica.Store(true)
		w.close() // the address may lead to another server now
		return answer, s.classify(err)
	case !w.conn.IsClosed() && !w.isIdle(): // an error has left a transaction open, or the end of the attempt has
		w.sendInTime(ctx, "ROLLBACK", s.patience())
	}
	switch {
	case hasCode(err, "22012"): // division by zero: see checkVersion
		err = w.describeVersion(ctx, s.connection.Database)
	case hasCode(err, "55P03") && w.waitsForStandby(ctx): // the lock of a row or table was not had in time
		err = errNoStandby
	}
	s.keep(w)
	return answer, s.classify(err)
}

// sendInTime sends a statement also where the attempt is over: it has a time of its own.
func (w *session) sendInTime(ctx context.Context, statement string, limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	w.send(ctx, message{statement})
}

// waitsForStandby reports whether a transaction of this user waits for a standby, so that others wait for that.
func (w *session) waitsForStandby(ctx context.Context) bool {
	results, err := w.send(ctx, message{"SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"})
	return err == nil && number(results[0]) > 0
}
