//go:build linux

package test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/fleet/etcd/test/cluster"
	"example.org/flock/fleet/lease/leasetest"
)

// waiters is how many wait in TestManyWaiters. They are keys in the line, most of them without a process: two cores
// could not start that many, and a key looks the same to the others.
const waiters = 512

// TestHandOverOrder has some in the line that must have the lock in the order in which they came.
func TestHandOverOrder(t *testing.T) {
	t.Parallel()
	name := leasetest.LockName(t)
	dir := t.TempDir()
	e := ours(t, "FLOCK_ETCD_TTL=120")
	c := sharedCluster(t)
	h := e.Hold(t, flockEtcd, name)
	const processes = 12
	var all []*leasetest.Child
	for i := range processes {
		all = append(all, e.Start(t, flockEtcd, name, "sh", "-c", fmt.Sprintf("echo %d >>%s/order", i, dir)))
		awaitLine(t, c, name, 2+i)
	}
	h.Release(t)
	var expected strings.Builder
	for i, p := range all {
		p.AwaitEnd(t).Check(t, 0, "", "")
		fmt.Fprintln(&expected, i)
	}
	if got := leasetest.Read(dir + "/order"); got != expected.String() {
		t.Errorf("order of the hand-overs: %q", strings.Fields(got))
	}
}

// TestManyWaiters has 512 in the line, and counts how many of them a hand-over wakes.
func TestManyWaiters(t *testing.T) {
	t.Parallel()
	name := leasetest.LockName(t)
	// Its own cluster, whose metrics are about nobody else.
	c := ownCluster(t, clusterOptions)
	e := reach(strings.Join(c.Endpoints(), ","), "FLOCK_ETCD_TTL=3000")
	h := e.Hold(t, flockEtcd, name)
	first := e.Queue(t, flockEtcd, name)
	awaitLine(t, c, name, 2)
	second := e.Queue(t, flockEtcd, name)
	keys := awaitLine(t, c, name, 3)

	// The others stand in line as keys with a watch each, made as flock-etcd makes them.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	lease, err := c.Client().Grant(ctx, 3000)
	if err != nil {
		t.Fatal(err)
	}
	last := keys[2]
	woken := make(chan string, waiters)
	for i := range waiters - 2 {
		key := fmt.Sprintf("/flock/%s/line/x/%d", name, i+1)
		if _, err := c.Client().Put(ctx, key, "{}", clientv3.WithLease(lease.ID)); err != nil {
			t.Fatal(err)
		}
		watch := c.Client().Watch(ctx, last, clientv3.WithCreatedNotify(), clientv3.WithFilterPut())
		if r := <-watch; !r.Created {
			t.Fatal(r.Err())
		}
		go func() {
			for r := range watch {
				woken <- fmt.Sprintf("%s: %d events, %v", key, len(r.Events), r.Err())
			}
		}()
		last = key
	}
	third := e.Queue(t, flockEtcd, name)
	awaitLine(t, c, name, waiters+2)

	before := metrics(t, c, watchEvents)
	h.Release(t)
	leasetest.Await(t, "the first waiter", func() bool { return first.Out.String() != "" })
	time.Sleep(300 * time.Millisecond) // the new holder tells its name
	after := metrics(t, c, watchEvents)
	t.Logf("one hand-over among %d waiters: etcd sent %v events to those who watch", waiters, after-before)
	if n := after - before; n < 1 || n > 3 {
		t.Errorf("etcd sent %v events", n)
	}
	if len(woken) != 0 {
		t.Errorf("%d others are woken, such as %s", len(woken), <-woken)
	}
	if second.Out.String() != "" || third.Out.String() != "" {
		t.Error("another one has the lock, too")
	}
	first.Release(t)
	leasetest.Await(t, "the second waiter", func() bool { return second.Out.String() != "" })
	second.Release(t)
	if _, err := c.Client().Revoke(ctx, lease.ID); err != nil {
		t.Fatal(err)
	}
	leasetest.Await(t, "the last waiter", func() bool { return third.Out.String() != "" })
	third.Release(t)
}

// TestNoSpace has etcd refuse all writes. Whoever stands in line gets the lock in its turn, and says so when etcd
// has space again.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"-x", "-s", "--permits=1"} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			c := ownCluster(t, cluster.Options{Members: 1})
			e := reach(c.Endpoints()[0], "FLOCK_ETCD_TTL=2")
			first := "-x"
			if option != "-s" {
				first = option
			}
			h := e.Hold(t, flockEtcd, first, "name")
			w := e.Queue(t, flockEtcd, option, "name")
			awaitLine(t, c, "name", 2)
			alarm := func(action etcdserverpb.AlarmRequest_AlarmAction) {
				t.Helper()
				status, err := c.Client().Status(t.Context(), c.Endpoints()[0])
				if err != nil {
					t.Fatal(err)
				}
				_, err = etcdserverpb.NewMaintenanceClient(c.Client().ActiveConnection()).Alarm(t.Context(),
					&etcdserverpb.AlarmRequest{
						Action: action, MemberID: status.Header.MemberId, Alarm: etcdserverpb.AlarmType_NOSPACE,
					})
				if err != nil {
					t.Fatal(err)
				}
			}
			alarm(etcdserverpb.AlarmRequest_ACTIVATE)
			e.Run(t, flockEtcd, option, "other", "echo", "ran").
				Check(t, 65, "", "flock-etcd: etcd refuses: etcdserver: mvcc: database space exceeded\n"+
					"flock-etcd: see etcdctl alarm list\n")
			h.Release(t)
			w.AwaitOutput(t)
			alarm(etcdserverpb.AlarmRequest_DEACTIVATE)
			leasetest.Await(t, "what its key says", func() bool {
				p := e.Run(t, flockEtcd, "--holders", "name")
				return p.Status == 0 && !strings.Contains(p.Out.String(), "(waiting)")
			})
			w.Release(t)
		})
	}
}
