//go:build linux

package test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"example.org/flock/fleet/lease/leasetest"
)

// TestNewcomers has many come at once for a lock that is held, at a server with 100 connections. The holder keeps its
// lock for longer than the TTL, and who finds no connection goes on trying. More than there are connections come with
// FLOCK_TORTURE, as by make torture-postgres. It is not run beside others, as it leaves them no processor.
func TestNewcomers(t *testing.T) {
	crowds := []int{64}
	if os.Getenv("FLOCK_TORTURE") != "" {
		crowds = append(crowds, 200)
	}
	for _, newcomers := range crowds {
		t.Run(fmt.Sprint(newcomers), func(t *testing.T) {
			s := ownServer(t, 10, "max_connections=100")
			h := to(s, "PGAPPNAME=holder").Hold(t, flockPostgres, "name")
			const connection = "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE application_name = 'holder'"
			before := sql(t, s, connection)[0]
			began := time.Now()
			var all []*leasetest.Child
			for range newcomers {
				all = append(all, to(s, "PGCONNECT_TIMEOUT=300").Start(t, flockPostgres, "name", "echo", "in"))
			}
			leasetest.Await(t, "more than the TTL", func() bool { return h.HasEnded() || time.Since(began) > 15*time.Second })
			if rows, err := s.SQL("SELECT (" + connection + "), (SELECT count(*) FROM flock.contender)"); err == nil {
				t.Logf("the holder has connection %s, before %s, and the number of rows", rows[0], before)
			}
			h.Release(t) // on a busy machine it may say that it was kept waiting
			leasetest.AwaitEnds(t, all)
			for _, p := range all {
				if p.Status != 0 || p.Out.String() != "in\n" {
					t.Errorf("status %d: %s%s", p.Status, &p.Out, &p.Err)
				}
			}
			t.Logf("all have had it after %v; the holder has said: %s", time.Since(began).Round(time.Millisecond), &h.Err)
		})
	}
}

// TestSlowRenewal has the renewal of a holder take longer than an answer is waited for before another connection is
// tried, at a server that has none. The holder keeps the one that it has.
func TestSlowRenewal(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 30)
	way := proxyTo(t, s)
	h := by(way).Hold(t, flockPostgres, "name")
	pid := sql(t, s, "SELECT pid FROM pg_stat_activity WHERE usename = 'cron'")[0]
	sql(t, s, "ALTER ROLE cron CONNECTION LIMIT 1")
	way.HoldBackAt("UPDATE flock.contender")
	leasetest.Await(t, "a renewal", func() bool { return !way.Holds() })
	time.Sleep(3 * time.Second) // in which it tries to make another connection
	way.Restore()
	leasetest.Await(t, "a renewal", func() bool {
		return sql(t, s, "SELECT expires > clock_timestamp() + interval '25 s' FROM flock.contender")[0] == "t"
	})
	if sql(t, s, "SELECT count(*) FROM pg_stat_activity WHERE pid = "+pid)[0] != "1" {
		t.Errorf("the connection is gone")
	}
	h.Release(t) // it may have warned
}
