//go:build linux

package test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/flock/fleet/etcd/test/cluster"
	"example.org/flock/fleet/lease/leasetest"
)

const tortureTTL = 2 * time.Second

func TestTorture(t *testing.T) {
	c := ownCluster(t, clusterOptions)
	var networks []cluster.Network
	var ways []leasetest.Environment
	for range 3 {
		n := networkTo(t, c)
		networks = append(networks, n)
		ways = append(ways, reach(n.Endpoints(), fmt.Sprintf("FLOCK_ETCD_TTL=%d", int(tortureTTL.Seconds()))))
	}
	leasetest.RunTorture(t, leasetest.Backend{
		Name:     "etcd",
		Server:   "etcd",
		Program:  flockEtcd,
		Section:  section,
		TTL:      tortureTTL,
		Locks:    []string{"red", "red%2Fx", "/var/lock/blue"},
		Ways:     ways,
		Direct:   reach(strings.Join(c.Endpoints(), ",")),
		Refusals: []string{"cannot reach etcd"},
		Connections: func(random *rand.Rand) (leasetest.Connections, string) {
			n := networks[random.IntN(len(networks))]
			if random.IntN(2) == 0 {
				return cluster.Network{n[random.IntN(len(n))]}, "the connections to one member"
			}
			return n, "the connections of a third of all"
		},
		DisturbServer: func(x *leasetest.Torture) { disturbMembers(x, c, 1+x.Random.IntN(3)/2) },
		Restore: func() error {
			for _, n := range networks {
				n.Restore()
			}
			var errs []error
			for _, m := range c.Members {
				errs = append(errs, m.Restore())
			}
			return errors.Join(errs...)
		},
	})
}

// disturbMembers freezes or kills n members for a while. The members belong to the goroutine of the faults, so it
// waits.
func disturbMembers(x *leasetest.Torture, c *cluster.Cluster, n int) {
	members := slices.Clone(c.Members)
	x.Random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	if x.Random.IntN(2) == 0 {
		if leader, err := c.Leader(); err == nil {
			i := slices.Index(members, leader)
			members[0], members[i] = members[i], members[0]
		}
	}
	members = members[:n]
	if x.Random.IntN(2) == 0 {
		x.Count(fmt.Sprintf("fault: freezing of %d members", n))
		for _, m := range members {
			m.Freeze()
		}
		// a leader that was frozen for longer may end leases that are alive: etcd issue 15247
		x.SleepUpTo(tortureTTL / 2)
	} else {
		x.Count(fmt.Sprintf("fault: killing of %d members", n))
		for _, m := range members {
			m.Kill()
		}
		x.SleepUpTo(3 * time.Second)
	}
	for _, m := range members {
		if err := m.Restore(); err != nil {
			x.Error(err)
		}
	}
}
