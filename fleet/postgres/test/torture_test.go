//go:build linux

package test

import (
	"math/rand/v2"
	"testing"
	"time"

	"example.org/flock/fleet/lease/leasetest"
	"example.org/flock/fleet/postgres/test/server"
)

const tortureTTL = 3 * time.Second

func TestTorture(t *testing.T) {
	s := ownServer(t, int(tortureTTL.Seconds()))
	var proxies []*server.Proxy
	var ways []leasetest.Environment
	direct := proxyTo(t, s)
	for range 3 {
		p := proxyTo(t, s)
		proxies, ways = append(proxies, p), append(ways, by(p, "PGCONNECT_TIMEOUT=5"))
	}
	leasetest.RunTorture(t, leasetest.Backend{
		Name:     "postgres",
		Server:   "PostgreSQL",
		Program:  flockPostgres,
		Section:  section,
		TTL:      tortureTTL,
		Locks:    []string{"red", "it's", "/var/lock/blue"},
		Ways:     ways,
		Direct:   by(direct),
		Refusals: []string{"cannot reach PostgreSQL", "earlier locks may still be held"},
		Connections: func(random *rand.Rand) (leasetest.Connections, string) {
			return proxies[random.IntN(len(proxies))], "the connections of a third of all"
		},
		DisturbServer: func(x *leasetest.Torture) { disturbServer(x, s, append(proxies, direct)) },
		Restore: func() error {
			for _, p := range proxies {
				p.Restore()
			}
			return nil // the server goes on after each fault
		},
	})
}

// disturbServer freezes the server for a while, starts it anew, has another one take its place, keeps rows, or ends its
// connections. The server belongs to the goroutine of the faults, so it waits.
func disturbServer(x *leasetest.Torture, s *server.Server, proxies []*server.Proxy) {
	switch x.Random.IntN(8) {
	case 0:
		x.Count("fault: freeze the server")
		s.Freeze()
		x.SleepUpTo(2 * tortureTTL)
		s.Thaw()
	case 1:
		restart(x, s, "crash the server", s.Crash)
	case 2:
		restart(x, s, "shut the server down", s.ShutDown)
	case 3:
		if err := promote(x, s, proxies); err != nil {
			x.Error(err)
		}
	case 4:
		holdRows(x, s, "flock.name")
	case 5:
		holdRows(x, s, "flock.contender")
	default:
		x.Count("fault: terminate all connections")
		terminate(x.T, s, time.Millisecond)
	}
}

// restart ends the server in a way, and starts it anew.
func restart(x *leasetest.Torture, s *server.Server, way string, end func()) {
	x.Count("fault: " + way)
	end()
	x.SleepUpTo(tortureTTL)
	if err := s.Run(); err != nil {
		x.Error(err)
	}
}

// holdRows has a transaction keep the rows of a table for a while.
func holdRows(x *leasetest.Torture, s *server.Server, table string) {
	x.Count("fault: keep the rows of " + table)
	conn, err := s.Connect(x.Context())
	if err != nil {
		x.Error(err)
		return
	}
	defer conn.Close(x.Context())
	if _, err := conn.Exec(x.Context(), "BEGIN; SELECT FROM "+table+" FOR UPDATE").ReadAll(); err != nil {
		x.Error(err)
	}
	x.SleepUpTo(2 * tortureTTL)
}

// promote crashes the server and promotes a replica, which may lag. Those who ask meet it before that, too.
func promote(x *leasetest.Torture, s *server.Server, proxies []*server.Proxy) error {
	replica, err := s.Replica()
	if err != nil {
		return err
	}
	what := "fault: promote a replica"
	if x.Random.IntN(2) == 0 {
		what = "fault: promote a replica that lags"
		if err := replica.Disconnect(); err != nil {
			return err
		}
		x.SleepUpTo(2 * tortureTTL)
	}
	x.Count(what)
	began := time.Now()
	s.Crash()
	for _, p := range proxies {
		p.LeadTo(replica)
	}
	x.SleepUpTo(tortureTTL)
	if err := replica.Promote(); err != nil {
		return err
	}
	x.Logf("no server for %v", time.Since(began).Round(time.Millisecond)) // on a busy machine that takes long
	s.Stop()
	*s = *replica
	return nil
}
