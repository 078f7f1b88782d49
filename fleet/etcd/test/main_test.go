//go:build linux

package test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/fleet/etcd/test/cluster"
	"example.org/flock/fleet/lease/leasetest"
)

// The programs under test and of the tests.
var flockEtcd, section, flock string

const allowance = leasetest.Allowance

func TestMain(m *testing.M) {
	leasetest.Main("flock-etcd", func(p leasetest.Programs) int {
		flockEtcd, section, flock = p.Backend, p.Section, p.Flock
		go measureLateness()
		defer stopShared()
		return m.Run()
	})
}

// clusterOptions are those of a cluster that is quick to notice what is lost.
var clusterOptions = cluster.Options{Heartbeat: 50 * time.Millisecond, Election: 500 * time.Millisecond}

var shared struct {
	sync.Once
	cluster *cluster.Cluster
	err     error
}

// sharedCluster is for tests that do not disturb its members.
func sharedCluster(t *testing.T) *cluster.Cluster {
	t.Helper()
	shared.Do(func() {
		shared.cluster, shared.err = cluster.Start(clusterOptions)
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

func stopShared() {
	if shared.cluster != nil {
		shared.cluster.Stop()
	}
}

// ownCluster is for a test that disturbs its members.
func ownCluster(t *testing.T, o cluster.Options) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Log())
		}
		c.Stop()
	})
	return c
}

// networkTo returns a network of its own to a cluster.
func networkTo(t *testing.T, c *cluster.Cluster) cluster.Network {
	t.Helper()
	n, err := c.Network()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

// reach returns the environment of one who reaches a cluster, with what is different from it.
func reach(endpoints string, more ...string) leasetest.Environment {
	return leasetest.NewEnvironment(append([]string{"ETCDCTL_ENDPOINTS=" + endpoints}, more...)...)
}

// line returns the keys of the contenders for a lock, in order.
func line(t *testing.T, c *cluster.Cluster, name string) (keys []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), allowance)
	defer cancel()
	r, err := c.Client().Get(ctx, "/flock/"+name+"/line/", clientv3.WithPrefix(),
		clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range r.Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys
}

// awaitLine waits until so many contend for a lock.
func awaitLine(t *testing.T, c *cluster.Cluster, name string, n int) (keys []string) {
	t.Helper()
	leasetest.Await(t, fmt.Sprintf("%d contenders for %s", n, name), func() bool {
		keys = line(t, c, name)
		return len(keys) == n
	})
	return keys
}

// late is by how much this machine has woken one process too late since the tests began: each time that it was to wake
// after ten milliseconds, added up. What is to happen in time takes longer by about that.
var late struct {
	sync.Mutex
	sum    time.Duration
	latest []delay // those of more than a millisecond
}

type delay struct {
	at time.Time
	by time.Duration
}

func measureLateness() {
	const pause = 10 * time.Millisecond
	for {
		began := time.Now()
		time.Sleep(pause)
		d := delay{time.Now(), time.Since(began) - pause}
		late.Lock()
		if late.sum += d.by; d.by > time.Millisecond {
			late.latest = append(late.latest, d)
		}
		late.Unlock()
	}
}

func lateness() time.Duration {
	late.Lock()
	defer late.Unlock()
	return late.sum
}

// worstDelay returns by how much this machine has woken one process too late, at the most, since a time. What one
// process sees by itself is seen too late by about that.
func worstDelay(since time.Time) (worst time.Duration) {
	late.Lock()
	defer late.Unlock()
	for _, d := range late.latest {
		if d.at.After(since) {
			worst = max(worst, d.by)
		}
	}
	return worst
}
