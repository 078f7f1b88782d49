//go:build linux

package test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"example.org/flock/fleet/lease/leasetest"
	"example.org/flock/fleet/postgres/test/server"
)

// A change of a lock deletes the rows that have expired, then reads the others, in two statements. A renewal needs no
// turn, so it can be under way meanwhile. What is in the line by the one and not by the other.

// connect returns a connection of the superuser, for a transaction that stays open.
func connect(t *testing.T, s *server.Server) *pgconn.PgConn {
	t.Helper()
	conn, err := s.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func run(t *testing.T, conn *pgconn.PgConn, statements string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statements).ReadAll(); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

// A gate stops those who are called "gated" between the two statements, by a lock in a trigger.
type gate struct {
	*testing.T
	server *server.Server
	conn   *pgconn.PgConn
}

func closeGate(t *testing.T, s *server.Server) *gate {
	t.Helper()
	sql(t, s, `CREATE FUNCTION flock.gate() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS $$ BEGIN
			IF current_setting('application_name') = 'gated' THEN PERFORM pg_advisory_xact_lock_shared(1); END IF;
			RETURN NULL;
		END $$;
		CREATE TRIGGER gate AFTER DELETE ON flock.contender EXECUTE FUNCTION flock.gate()`)
	g := &gate{t, s, connect(t, s)}
	run(t, g.conn, "SELECT pg_advisory_lock(1)")
	return g
}

const ofGated = " FROM pg_stat_activity WHERE application_name = 'gated'"

// await waits until a process is at the gate.
func (g *gate) await() {
	g.Helper()
	leasetest.Await(g.T, "a process at the gate", func() bool {
		return sql(g.T, g.server, "SELECT count(*)"+ofGated+" AND wait_event = 'advisory'")[0] != "0"
	})
}

// open opens the gate, and waits until the process has done what it can.
func (g *gate) open() {
	g.Helper()
	run(g.T, g.conn, "SELECT pg_advisory_unlock(1)")
	leasetest.Await(g.T, "the end of a change", func() bool {
		return sql(g.T, g.server, "SELECT count(*) > 0 AND bool_and(state = 'idle' OR "+
			"wait_event_type = 'Lock' AND wait_event <> 'advisory')"+ofGated)[0] == "t"
	})
}

// where is the condition for the row of a process.
func where(p *leasetest.Holding) string { return fmt.Sprintf(" WHERE pid = %d", p.Process.Pid) }

// renewLate has the time of a row be over while the renewal is under way that was in time. The renewal ends with the
// transaction of the connection.
func renewLate(t *testing.T, conn *pgconn.PgConn, p *leasetest.Holding) {
	t.Helper()
	const set = "UPDATE flock.contender SET expires = clock_timestamp() "
	run(t, conn, set+"- interval '1 s'"+where(p))
	run(t, conn, "BEGIN; "+set+"+ interval '1 min', epoch = server.epoch FROM flock.server"+where(p))
}

// checkOut fails the test if a process has the lock.
func checkOut(t *testing.T, s *server.Server, p *leasetest.Holding) {
	t.Helper()
	if sql(t, s, "SELECT count(*) FROM flock.contender"+where(p)+" AND taken IS NOT NULL")[0] != "0" {
		t.Errorf("process %d has the lock, too", p.Process.Pid)
	}
}

// TestRenewedBetween has a row expire between the two statements, whose renewal is under way. Who changes the lock then
// is not let in beside it.
func TestRenewedBetween(t *testing.T) {
	t.Parallel()
	gated := "PGAPPNAME=gated"
	t.Run("newcomer beside a waiter", func(t *testing.T) {
		t.Parallel()
		s := ownServer(t, 60)
		h := to(s).Hold(t, flockPostgres, "name")
		w := to(s).Queue(t, flockPostgres, "name")
		awaitLine(t, s, "name", 2)
		kill(w.Child, syscall.SIGSTOP) // it would have the lock now, and does not know that yet
		h.ReleaseSilent(t)
		g, renewal := closeGate(t, s), connect(t, s)
		n := to(s, gated).Queue(t, flockPostgres, "name")
		g.await()
		renewLate(t, renewal, w)
		g.open()
		run(t, renewal, "COMMIT")
		awaitLine(t, s, "name", 2)
		checkOut(t, s, n)
		kill(w.Child, syscall.SIGCONT)
		w.AwaitOutput(t)
		checkOut(t, s, n)
		w.Release(t)
		n.AwaitOutput(t)
		n.Release(t)
	})
	t.Run("newcomer beside a holder", func(t *testing.T) {
		t.Parallel()
		s := ownServer(t, 60)
		h := to(s).Hold(t, flockPostgres, "name")
		g, renewal := closeGate(t, s), connect(t, s)
		n := to(s, gated).Queue(t, flockPostgres, "name")
		g.await()
		renewLate(t, renewal, h)
		g.open()
		run(t, renewal, "COMMIT")
		awaitLine(t, s, "name", 2)
		checkOut(t, s, n)
		h.Release(t)
		n.AwaitOutput(t)
		n.Release(t)
	})
	// The holder of before is unknown until the quiet time ends. That ends between the two statements, too.
	t.Run("newcomer beside a holder of before", func(t *testing.T) {
		t.Parallel()
		s := ownServer(t, 60)
		h := to(s).Hold(t, flockPostgres, "name")
		kill(h.Child, syscall.SIGSTOP) // so that it renews its lock just before the end of the quiet time
		sql(t, s, "UPDATE flock.server SET epoch = epoch + 1, quiet = clock_timestamp() + interval '1 minute'")
		g, renewal := closeGate(t, s), connect(t, s)
		n := to(s, gated).Queue(t, flockPostgres, "name")
		g.await()
		sql(t, s, "UPDATE flock.server SET quiet = clock_timestamp() - interval '1 s'")
		renewLate(t, renewal, h)
		g.open()
		run(t, renewal, "COMMIT")
		awaitLine(t, s, "name", 2)
		checkOut(t, s, n)
		kill(h.Child, syscall.SIGCONT)
		h.Release(t)
		n.AwaitOutput(t)
		n.Release(t)
	})
	t.Run("waiter beside a holder", func(t *testing.T) {
		t.Parallel()
		s := ownServer(t, 60)
		h := to(s).Hold(t, flockPostgres, "name")
		w := to(s, gated).Queue(t, flockPostgres, "name")
		awaitLine(t, s, "name", 2)
		awaitIdle(t, s, 2)
		g, renewal, turn := closeGate(t, s), connect(t, s), connect(t, s)
		// It looks, and finds the holder dead. Before its turn comes the holder lives.
		run(t, turn, "BEGIN; SELECT FROM flock.name FOR UPDATE")
		run(t, renewal, "UPDATE flock.contender SET expires = clock_timestamp() - interval '1 s'"+where(h))
		run(t, renewal, "SELECT pg_notify('flock_' || replace(key::text, '-', ''), '') FROM flock.contender"+where(w))
		leasetest.Await(t, "a change that waits for its turn", func() bool {
			return sql(t, s, "SELECT count(*)"+ofGated+" AND wait_event_type = 'Lock'")[0] != "0"
		})
		run(t, renewal, "UPDATE flock.contender SET expires = clock_timestamp() + interval '1 min'"+where(h))
		run(t, turn, "COMMIT")
		g.await()
		renewLate(t, renewal, h)
		g.open()
		run(t, renewal, "COMMIT")
		checkOut(t, s, w)
		h.Release(t)
		w.AwaitOutput(t)
		w.Release(t)
	})
}

// TestDeletionWaits has a row expire while its renewal is under way, and somebody judge it. That waits for the renewal,
// and then leaves the row.
func TestDeletionWaits(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 60)
	h, renewal := to(s).Hold(t, flockPostgres, "name"), connect(t, s)
	renewLate(t, renewal, h)
	n := to(s, "PGAPPNAME=newcomer").Queue(t, flockPostgres, "name")
	leasetest.Await(t, "a deletion that waits", func() bool {
		return sql(t, s, fmt.Sprintf("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'newcomer' "+
			"AND %d = ANY(pg_blocking_pids(pid))", renewal.PID()))[0] != "0"
	})
	run(t, renewal, "COMMIT")
	awaitLine(t, s, "name", 2)
	checkOut(t, s, n)
	h.Release(t)
	n.AwaitOutput(t)
	n.Release(t)
}

// TestRenewalNeedsNoTurn has a transaction keep the row of a name for longer than the TTL: the holder renews its lock
// nevertheless, and those who come wait.
//
// A renewal once waited for its turn, lest it revive a row that is judged just now: a change could leave out a row that
// it had not deleted. Now each row counts that is there, and the deletion waits for the renewal, and checks again
// (TestRenewedBetween, TestDeletionWaits); the renewal of a row that was deleted meanwhile finds none.
func TestRenewalNeedsNoTurn(t *testing.T) {
	t.Parallel()
	s, ttl := ownServer(t, 5), 5*time.Second
	h, turn := to(s).Hold(t, flockPostgres, "name"), connect(t, s)
	run(t, turn, "BEGIN; SELECT FROM flock.name FOR UPDATE")
	n := to(s).Queue(t, flockPostgres, "name")
	began := time.Now()
	leasetest.Await(t, "a renewal after more than the TTL", func() bool {
		if h.HasEnded() {
			t.Fatalf("the lock is lost: %s", &h.Err)
		}
		return time.Since(began) > ttl*3/2 && sql(t, s, "SELECT expires > clock_timestamp() + interval '3 s' "+
			"FROM flock.contender"+where(h))[0] == "t"
	})
	if n.Out.String() != "" {
		t.Error("another one has the lock, too")
	}
	run(t, turn, "COMMIT")
	h.Release(t)
	n.AwaitOutput(t)
	n.Release(t)
}

// TestBehindDead kills a holder. One who waits behind it is in soon after its row has expired, and does not ask all the
// time until then.
func TestBehindDead(t *testing.T) {
	t.Parallel()
	s, ttl := ownServer(t, 10), 10*time.Second
	way := proxyTo(t, s)
	h := to(s).Hold(t, flockPostgres, "name")
	w := by(way).Queue(t, flockPostgres, "name")
	awaitLine(t, s, "name", 2)
	awaitIdle(t, s, 2)
	syscall.Kill(leasetest.GuardOf(t, h.Process.Pid), syscall.SIGSTOP)
	kill(h.Child, syscall.SIGKILL)
	began, before := time.Now(), way.Messages()
	w.AwaitOutput(t)
	took, sent := time.Since(began), way.Messages()-before
	t.Logf("in after %v, with %d messages", took, sent)
	if took > ttl+2*time.Second+allowance {
		t.Errorf("it was in after %v", took)
	}
	if limit := 3 * int(took/time.Second+1); sent > limit {
		t.Errorf("it has sent %d messages, of %d", sent, limit)
	}
	if text := strings.TrimSpace(w.Err.String()); text != "" && !strings.Contains(text, "answer") {
		t.Error(text)
	}
	w.Release(t)
}
