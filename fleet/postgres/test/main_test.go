//go:build linux

// Package test runs flock-postgres over real servers of PostgreSQL.
package test

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"example.org/flock/fleet/lease/leasetest"
	"example.org/flock/fleet/postgres/test/server"
)

// The programs under test and of the tests.
var flockPostgres, section, flock string

const allowance = leasetest.Allowance

func TestMain(m *testing.M) {
	leasetest.Main("flock-postgres", func(p leasetest.Programs) int {
		flockPostgres, section, flock = p.Backend, p.Section, p.Flock
		defer server.RemoveTemplate()
		defer stopShared()
		return m.Run()
	})
}

var shared struct {
	sync.Once
	server *server.Server
	err    error
}

// sharedServer is for tests that do not disturb it. It begins transactions with what others might like as a default.
func sharedServer(t *testing.T) *server.Server {
	t.Helper()
	shared.Do(func() {
		shared.server, shared.err = start(10,
			"default_transaction_isolation=repeatable read", "default_transaction_read_only=on",
			"synchronous_commit=off", "standard_conforming_strings=off", "bytea_output=escape",
			"intervalstyle=iso_8601", "timezone=Asia/Kolkata")
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

func stopShared() {
	if shared.server != nil {
		shared.server.Stop()
	}
}

// ownServer is for a test that disturbs it, or needs another TTL.
func ownServer(t *testing.T, ttl int, settings ...string) *server.Server {
	t.Helper()
	s, err := start(ttl, settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.Log())
		}
		s.Stop()
	})
	return s
}

// start starts a server with the tables, an ordinary user who may use them, and a past.
func start(ttl int, settings ...string) (*server.Server, error) {
	s, err := server.Start(settings...)
	if err != nil {
		return nil, err
	}
	return s, makeTables(s, ttl, known)
}

// known has the server be the one that is known from before: nobody waits for those who may have got a lock by another
// one.
const known = `;UPDATE flock.server SET started = pg_postmaster_start_time(), epoch = 1`

func makeTables(s *server.Server, ttl int, more string) error {
	schema, err := os.ReadFile("../schema.sql")
	if err != nil {
		return err
	}
	_, err = s.SQL("DROP SCHEMA IF EXISTS flock CASCADE;" + string(schema) +
		fmt.Sprintf(";UPDATE flock.server SET ttl = %d", ttl) + more +
		`;DO $$ BEGIN
			IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'cron') THEN CREATE ROLE cron LOGIN; END IF;
		END $$;
		GRANT USAGE ON SCHEMA flock TO cron;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA flock TO cron`)
	return err
}

// proxyTo returns a way of its own to a server.
func proxyTo(t *testing.T, s *server.Server) *server.Proxy {
	t.Helper()
	p, err := server.NewProxy(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// sql runs statements as the superuser, and returns the rows of the last one.
func sql(t *testing.T, s *server.Server, statements string) []string {
	t.Helper()
	rows, err := s.SQL(statements)
	if err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
	return rows
}

// reach returns the environment of one who reaches a server as an ordinary user, with what is different from it.
func reach(host, port string, more ...string) leasetest.Environment {
	return leasetest.NewEnvironment(append([]string{"PGHOST=" + host, "PGPORT=" + port, "PGDATABASE=postgres",
		"PGUSER=cron", "PGCONNECT_TIMEOUT=30", // this machine may do much else
		"PGSSLMODE=disable"}, more...)...) // "prefer" makes two connections where the server has no TLS
}

func to(s *server.Server, more ...string) leasetest.Environment {
	return reach(s.Host, s.Port, more...)
}

func by(p *server.Proxy, more ...string) leasetest.Environment { return reach(p.Host, p.Port, more...) }

// awaitLine waits until so many contend for a lock.
func awaitLine(t *testing.T, s *server.Server, name string, n int) {
	t.Helper()
	leasetest.AwaitCount(t, "contenders for "+name, n, func() int {
		rows, err := s.SQL("SELECT count(*) FROM flock.contender WHERE name = '" + name + "'")
		if err != nil { // all connections may be taken
			return -1
		}
		count, _ := strconv.Atoi(rows[0])
		return count
	})
}

func kill(p *leasetest.Child, sig syscall.Signal) { p.Process.Signal(sig) }
