//go:build linux

package test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"example.org/flock/fleet/lease/leasetest"
	"example.org/flock/fleet/postgres/test/server"
)

// TestRefusedHolder has the server answer a holder that it refuses to renew its lock. The holder says what the server
// says before that costs the command its life, and that the lock was renewed.
func TestRefusedHolder(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 20)
	sql(t, s, "CREATE ROLE clerk; GRANT USAGE ON SCHEMA flock TO clerk; GRANT ALL ON ALL TABLES IN SCHEMA flock TO clerk;"+
		"CREATE ROLE ann LOGIN; GRANT clerk TO ann")
	const denied = "PostgreSQL refuses: permission denied for %s"
	const grant = "\nflock-postgres: grant the rights that flock-postgres --schema shows\n"
	const disconnect = ";SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'cron'"
	for _, c := range []struct{ user, refuse, relent, says string }{
		{"cron", "REVOKE UPDATE ON flock.contender FROM cron", "GRANT UPDATE ON flock.contender TO cron",
			fmt.Sprintf(denied, "table contender") + grant},
		{"ann", "REVOKE clerk FROM ann", "GRANT clerk TO ann", fmt.Sprintf(denied, "schema flock") + grant},
		{"cron", "ALTER ROLE cron NOLOGIN" + disconnect, "ALTER ROLE cron LOGIN",
			`PostgreSQL refuses: role "cron" is not permitted to log in` + "\n"},
		{"cron", "UPDATE flock.server SET version = 3", "UPDATE flock.server SET version = 2",
			"the tables in the database postgres have version 3, newer than this program, which needs 2: " +
				"install the flock-postgres that belongs to them\n"},
	} {
		h := to(s, "PGUSER="+c.user).Hold(t, flockPostgres, "name")
		sql(t, s, c.refuse)
		leasetest.Await(t, c.says, func() bool { return strings.HasSuffix(h.Err.String(), " s: "+c.says) })
		sql(t, s, c.relent)
		leasetest.Await(t, "the renewal", func() bool {
			return strings.HasSuffix(h.Err.String(), "flock-postgres: PostgreSQL has renewed the lock name\n")
		})
		h.Release(t)
		if text := h.Err.String(); !strings.HasPrefix(text, "flock-postgres: PostgreSQL has not renewed the lock name for ") ||
			strings.Contains(text, "answer") {
			t.Errorf("%s: %s", c.refuse, text)
		}
	}
}

// TestLockedTables has one session keep rows or tables. All who need them say so, with the command by which an ordinary
// user can find it.
func TestLockedTables(t *testing.T) {
	t.Parallel()
	psql, err := server.Program("psql")
	if err != nil {
		t.Fatal(err)
	}
	const find = `psql -c "SELECT pid, mode FROM pg_locks WHERE relation IN ` +
		`('flock.server'::regclass, 'flock.name'::regclass, 'flock.contender'::regclass)"`
	const says = "another session keeps a row or table that this lock needs (canceling statement due to lock timeout)\n" +
		"flock-postgres: this lists such sessions: " + find + "\n"
	for what, statement := range map[string]string{
		"rows":   "SELECT FROM flock.name FOR UPDATE; SELECT FROM flock.contender FOR UPDATE",
		"tables": "LOCK TABLE flock.contender",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := ownServer(t, 10)
			e := to(s, "PGCONNECT_TIMEOUT=3", "PATH="+filepath.Dir(psql)+":/usr/bin:/bin")
			e.Run(t, flockPostgres, "other", "true").Check(t, 0, "", "")
			h := e.Hold(t, flockPostgres, "name")
			w := e.Start(t, flockPostgres, "name", "true")
			awaitLine(t, s, "name", 2)
			keeper, err := s.Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := keeper.Exec(t.Context(), "BEGIN;"+statement).ReadAll(); err != nil {
				t.Fatal(err)
			}
			refused := []string{"-w 3 other true", "-n other true", "--break name"}
			if what == "tables" { // rows are read without a lock
				refused = append(refused, "--holders")
			}
			for _, words := range refused {
				p := e.Run(t, append([]string{flockPostgres}, strings.Fields(words)...)...)
				p.Check(t, 75, "", "flock-postgres: cannot reach PostgreSQL at "+s.Host+":5432 in time: "+says)
			}
			leasetest.Await(t, "the waiter's words", func() bool {
				return w.Err.String() == "flock-postgres: requests to PostgreSQL fail; the wait for name goes on: "+says
			})
			if p := h.AwaitEnd(t); p.Status != 75 || !strings.Contains(p.Err.String(), " s: "+says) {
				t.Errorf("status %d, %s", p.Status, &p.Err)
			}
			p := e.Run(t, "sh", "-c", find)
			if !strings.Contains(p.Out.String(), fmt.Sprint(keeper.PID())) {
				t.Errorf("process %d is not in %s%s", keeper.PID(), &p.Out, &p.Err)
			}
			keeper.Close(t.Context())
		})
	}
}

// TestReplicaAlone has a primary that is dead, and its replica, at two addresses in one list: each is told its own.
func TestReplicaAlone(t *testing.T) {
	t.Parallel()
	primary := ownServer(t, 4)
	replica, err := primary.Replica()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(replica.Stop)
	primary.Crash()
	a, b := primary.Host+":5432", replica.Host+":5432"
	e := reach(primary.Host+","+replica.Host, "5432", "PGCONNECT_TIMEOUT=2")
	leasetest.Await(t, "the reason", func() bool { // it may be that there was no answer in time
		p := e.Run(t, flockPostgres, "name", "true")
		return p.Status == 75 && p.Err.String() == "flock-postgres: cannot reach PostgreSQL at "+a+","+b+" in time: "+
			a+" ("+primary.Host+"): Connection refused; "+b+" ("+replica.Host+"): the server is a replica\n"
	})
}
