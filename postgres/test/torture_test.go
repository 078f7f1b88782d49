//go:build linux

package test

import (
	"math/rand/v2"
	"testing"
	"time"

	"example.org/flock/lease/leasetest"
	"example.org/flock/postgres/test/server"
)

const tortureTTL = 3 * time.Second

func TestTorture(t *testing.T) {
	s := ownServer(t, int(tortureTTL.Seconds()))
	var proxies []*server.Proxy
	var ways []leasetest.Environment
	for range 3 {
		p := proxyTo(t, s)
		proxies, ways = append(proxies, p), append(ways, by(p))
	}
	leasetest.RunTorture(t, leasetest.Backend{
		Name:     "postgres",
		Program:  flockPostgres,
		Section:  section,
		TTL:      tortureTTL,
		Locks:    []string{"red", "it's", "/var/lock/blue"},
		Ways:     ways,
		Direct:   to(s),
		Refusals: []string{"cannot reach PostgreSQL", "by the server of before is unknown"},
		Connections: func(random *rand.Rand) (leasetest.Connections, string) {
			return proxies[random.IntN(len(proxies))], "the connections of a third of all"
		},
		DisturbServer: func(x *leasetest.Torture) { disturbServer(x, s) },
		Restore: func() error {
			for _, p := range proxies {
				p.Restore()
			}
			return nil // the server goes on after each fault
		},
	})
}

// disturbServer freezes or crashes the server for a while, or ends its connections. The server belongs to the goroutine
// of the faults, so it waits.
func disturbServer(x *leasetest.Torture, s *server.Server) {
	switch x.Random.IntN(4) {
	case 0:
		x.Count("fault: freeze the server")
		s.Freeze()
		x.SleepUpTo(2 * tortureTTL)
		s.Thaw()
	case 1:
		x.Count("fault: crash the server")
		s.Crash()
		x.SleepUpTo(tortureTTL)
		if err := s.Run(); err != nil {
			x.Error(err)
		}
	default:
		x.Count("fault: terminate all connections")
		terminate(x.T, s, time.Millisecond)
	}
}
