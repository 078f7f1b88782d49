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

	"example.org/flock/etcd/test/cluster"
)

// waiters is how many wait in TestManyWaiters. They are keys in the line, most of them without a process: two cores could
// not start that many, and a key looks the same to the others.
const waiters = 512

// TestHandOverOrder has some in the line that must have the lock in the order in which they came.
func TestHandOverOrder(t *testing.T) {
	t.Parallel()
	name := uniqueName(t)
	dir := t.TempDir()
	e := ours(t, "FLOCK_ETCD_TTL=120")
	c := sharedCluster(t)
	h := e.hold(t, name)
	const processes = 12
	var all []*process
	for i := range processes {
		all = append(all, e.start(t, flockEtcd, name, "sh", "-c", fmt.Sprintf("echo %d >>%s/order", i, dir)))
		awaitLine(t, c, name, 2+i)
	}
	h.release(t)
	var expected strings.Builder
	for i, p := range all {
		p.wait(t).check(t, 0, "", "")
		fmt.Fprintln(&expected, i)
	}
	if got := read(dir + "/order"); got != expected.String() {
		t.Errorf("order of the hand-overs: %q", strings.Fields(got))
	}
}

// TestManyWaiters has 512 in the line, and counts how many of them a hand-over wakes.
func TestManyWaiters(t *testing.T) {
	t.Parallel()
	name := uniqueName(t)
	// Its own cluster, whose metrics are about nobody else.
	c := ownCluster(t, clusterOptions)
	e := reach(strings.Join(c.Endpoints(), ","), "FLOCK_ETCD_TTL=3000")
	h := e.hold(t, name)
	first := e.queue(t, name)
	awaitLine(t, c, name, 2)
	second := e.queue(t, name)
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
	third := e.queue(t, name)
	awaitLine(t, c, name, waiters+2)

	before := metrics(t, c, watchEvents)
	h.release(t)
	await(t, "the first waiter", func() bool { return first.out.String() != "" })
	time.Sleep(300 * time.Millisecond) // the new holder tells its name
	after := metrics(t, c, watchEvents)
	t.Logf("one hand-over among %d waiters: etcd sent %v events to those who watch", waiters, after-before)
	if n := after - before; n < 1 || n > 3 {
		t.Errorf("etcd sent %v events", n)
	}
	if len(woken) != 0 {
		t.Errorf("%d others are woken, such as %s", len(woken), <-woken)
	}
	if second.out.String() != "" || third.out.String() != "" {
		t.Error("another one has the lock, too")
	}
	first.release(t)
	await(t, "the second waiter", func() bool { return second.out.String() != "" })
	second.release(t)
	if _, err := c.Client().Revoke(ctx, lease.ID); err != nil {
		t.Fatal(err)
	}
	await(t, "the last waiter", func() bool { return third.out.String() != "" })
	third.release(t)
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
			h := e.hold(t, first, "name")
			w := e.queue(t, option, "name")
			awaitLine(t, c, "name", 2)
			alarm := func(action etcdserverpb.AlarmRequest_AlarmAction) {
				t.Helper()
				status, err := c.Client().Status(t.Context(), c.Endpoints()[0])
				if err != nil {
					t.Fatal(err)
				}
				_, err = etcdserverpb.NewMaintenanceClient(c.Client().ActiveConnection()).Alarm(t.Context(),
					&etcdserverpb.AlarmRequest{Action: action, MemberID: status.Header.MemberId, Alarm: etcdserverpb.AlarmType_NOSPACE})
				if err != nil {
					t.Fatal(err)
				}
			}
			alarm(etcdserverpb.AlarmRequest_ACTIVATE)
			e.run(t, flockEtcd, option, "other", "echo", "ran").check(t, 65, "", "flock-etcd: etcd refuses: etcdserver: mvcc: database space exceeded\n")
			h.release(t)
			awaitOutput(t, w.process)
			alarm(etcdserverpb.AlarmRequest_DEACTIVATE)
			await(t, "what its key says", func() bool {
				p := e.run(t, flockEtcd, "--holders", "name")
				return p.status == 0 && !strings.Contains(p.out.String(), "(waiting)")
			})
			w.release(t)
		})
	}
}
