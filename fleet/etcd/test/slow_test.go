//go:build linux

package test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/fleet/etcd/test/cluster"
	"example.org/flock/fleet/lease/leasetest"
)

// howMany returns how many processes a test starts at once: n, or the number in FLOCK_CROWD, for machines that have
// time.
func howMany(t *testing.T, n int) int {
	t.Helper()
	if text := os.Getenv("FLOCK_CROWD"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// secure gives a cluster the user cron, with a password and all rights, and switches users on.
func secure(t *testing.T, c *cluster.Cluster) leasetest.Environment {
	t.Helper()
	for _, name := range []string{"root", "cron"} {
		if _, err := c.Client().UserAdd(t.Context(), name, "geheim"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Client().UserGrantRole(t.Context(), name, "root"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Client().AuthEnable(t.Context()); err != nil {
		t.Fatal(err)
	}
	return reach(strings.Join(c.Endpoints(), ","), "ETCDCTL_USER=cron:geheim")
}

// metrics returns the sum of those lines of the members' metrics that begin with one of the names.
func metrics(t *testing.T, c *cluster.Cluster, names ...string) float64 {
	t.Helper()
	sum, err := c.Metrics(names...)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

const (
	startedChecks = `grpc_server_started_total{grpc_method="Authenticate"`
	startedTxns   = `grpc_server_started_total{grpc_method="Txn"`
	watchEvents   = "etcd_debugging_mvcc_events_total "                      // sent to those who watch
	keepAlives    = `grpc_server_started_total{grpc_method="LeaseKeepAlive"` // each has a stream of its own
)

// TestPasswords has many check their passwords at once, which costs etcd more time than the dial time-out is. Each is
// checked once, and all have the lock within a minute more than the checks alone take.
func TestPasswords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		cost       string
		n, members int
	}{{"default cost", "10", 30, 1}, {"slow", "13", 6, 1}, {"slow, three members", "13", 12, 3}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			members := ownCluster(t, cluster.Options{Members: c.members, Flags: []string{"--bcrypt-cost", c.cost}})
			e := secure(t, members)
			e = append(e, fmt.Sprintf("ETCDCTL_DIAL_TIMEOUT=%ds", min(c.members, 2)))
			n := howMany(t, c.n)
			for tries := 1; ; tries++ {
				checks := loginAtOnce(t, e, members, n)
				if checks <= float64(n) {
					break
				}
				if tries == 3 { // on a busy machine a member can look silent, but not each time
					t.Fatalf("etcd has checked %v passwords of %d", checks, n)
				}
			}
		})
	}
}

// silence is what flock-etcd says if etcd has not answered for a while, as on a busy machine.
var silence = regexp.MustCompile(`flock-etcd: requests to etcd fail; the wait for .* goes on: .*\n|flock-etcd: etcd answers again\n`)

// loginAtOnce has n of flock-etcd log in at once, and returns how many passwords etcd has checked.
func loginAtOnce(t *testing.T, e leasetest.Environment, members *cluster.Cluster, n int) (checks float64) {
	alone := checkPasswords(t, members, n)
	before := metrics(t, members, startedChecks)
	began := time.Now()
	var all []*leasetest.Child
	for i := range n {
		limit := fmt.Sprint((time.Minute + alone).Seconds())
		all = append(all, e.Start(t, flockEtcd, "-w", limit, fmt.Sprint(leasetest.LockName(t), i), "echo", "in"))
	}
	var last time.Duration
	for _, p := range all {
		<-p.Ended // within its limit
		p.Check(t, 0, "in\n", strings.Join(silence.FindAllString(p.Err.String(), -1), ""))
		last = max(last, p.EndedAt.Sub(began))
	}
	checks = metrics(t, members, startedChecks) - before
	t.Logf("%d at once: the last one ended after %v, the checks alone take %v; etcd has checked %v passwords",
		n, last.Round(time.Millisecond), alone.Round(time.Millisecond), checks)
	return checks
}

// TestPasswordAtFrozenMember has a member frozen that a third of the contenders ask first. They ask another one in
// time, without -w, too.
func TestPasswordAtFrozenMember(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, clusterOptions)
	leader, err := c.Leader()
	if err != nil {
		t.Fatal(err)
	}
	e := secure(t, c)
	for _, m := range c.Members {
		if m != leader {
			m.Freeze()
			t.Cleanup(m.Thaw)
			break
		}
	}
	var all []*leasetest.Child
	for i := range 9 {
		all = append(all, e.Start(t, flockEtcd, fmt.Sprint("name", i), "echo", "in"))
		with := append(e, "ETCDCTL_DIAL_TIMEOUT=10m")
		all = append(all, with.Start(t, flockEtcd, "-w", "30", fmt.Sprint("limited", i), "echo", "in"))
	}
	for _, p := range all {
		p.AwaitEnd(t).Check(t, 0, "in\n", "")
	}
}

// checkPasswords has etcd check so many passwords, a few at a time, and returns how long that takes.
func checkPasswords(t *testing.T, c *cluster.Cluster, n int) time.Duration {
	t.Helper()
	began := time.Now()
	slots := make(chan struct{}, 4)
	failures := make(chan error, n)
	for range n {
		slots <- struct{}{}
		go func() {
			_, err := c.Client().Authenticate(t.Context(), "cron", "geheim")
			failures <- err
			<-slots
		}()
	}
	for range n {
		if err := <-failures; err != nil {
			t.Fatal(err)
		}
	}
	return time.Since(began)
}

// TestFarAway has members behind a network that needs a while for each packet.
func TestFarAway(t *testing.T) {
	t.Parallel()
	for _, oneWay := range []time.Duration{100 * time.Millisecond, 300 * time.Millisecond} {
		t.Run(oneWay.String(), func(t *testing.T) {
			t.Parallel()
			n := networkTo(t, sharedCluster(t))
			n.Delay(oneWay)
			e := reach(n.Endpoints())
			name := leasetest.LockName(t)
			e.Run(t, flockEtcd, "-n", name, "echo", "in").Check(t, 0, "in\n", "")
			began := time.Now()
			p := e.Run(t, flockEtcd, "-w", "20", "--cooldown", "2", name, "echo", "in")
			p.Check(t, 0, "in\n", "")
			t.Logf("after %v", p.EndedAt.Sub(began).Round(time.Millisecond))
		})
	}
	// Each answer takes almost a fifth of the TTL, and the locks of one who has it and of one who gets it then are held
	// for longer than the TTL. A machine that is late has no time left for its own part of that fifth, but may have the
	// next time.
	t.Run("a fifth of the TTL", func(t *testing.T) {
		t.Parallel()
		for attempt := 1; ; attempt++ {
			lost := loseSlowLock(t, fmt.Sprint(leasetest.LockName(t), attempt))
			if lost == "" {
				break
			}
			if t.Log(lost); attempt == 4 {
				t.Fatal("the lock is lost each time")
			}
		}
	})
}

// TestTooSlow has answers take longer than half of the TTL. Nobody could keep a lease alive.
func TestTooSlow(t *testing.T) {
	t.Parallel()
	n := networkTo(t, sharedCluster(t))
	n.Delay(600 * time.Millisecond)
	e, name := reach(n.Endpoints(), "FLOCK_ETCD_TTL=2"), leasetest.LockName(t)
	says := "flock-etcd: etcd at " + n.Endpoints() + " answers too slowly for a TTL of 2 s\n" +
		"flock-etcd: choose a longer TTL\n"
	e.Run(t, flockEtcd, "-n", name, "echo", "in").Check(t, 75, "", says)
	p := e.Start(t, flockEtcd, name, "echo", "in")
	leasetest.Await(t, "a line", func() bool { return p.Err.String() == says })
	n.Delay(0)
	p.AwaitEnd(t).Check(t, 0, "in\n", says)
}

// TestLeasesOfRepeatedRequests has a network so slow that requests are made again. They do not leave a lease without a
// holder.
func TestLeasesOfRepeatedRequests(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, cluster.Options{Members: 1})
	n := networkTo(t, c)
	n.Delay(300 * time.Millisecond)
	e := reach(n.Endpoints(), "FLOCK_ETCD_TTL=86400")
	e.Run(t, flockEtcd, leasetest.LockName(t), "echo", "in").Check(t, 0, "in\n", "")
	leasetest.Await(t, "the end of all leases", func() bool {
		r, err := c.Client().Leases(t.Context())
		return err == nil && len(r.Leases) == 0
	})
}

// TestStoppedWhileAsking has a signal end flock-etcd while a request has had its effect, but no answer. Nothing is
// left.
func TestStoppedWhileAsking(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		until  string // there are so many leases
		leases int
		option string
	}{{"the lease", 1, "-x"}, {"the cooldown's lease", 2, "--cooldown=3600"}} {
		t.Run(c.until, func(t *testing.T) {
			t.Parallel()
			members := ownCluster(t, cluster.Options{Members: 1})
			n := networkTo(t, members)
			n.Delay(200 * time.Millisecond)
			leases := func() int {
				r, err := members.Client().Leases(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return len(r.Leases)
			}
			p := reach(n.Endpoints(), "FLOCK_ETCD_TTL=86400").Start(t, flockEtcd, c.option, "name", "echo", "ran")
			leasetest.Await(t, c.until, func() bool { return leases() == c.leases })
			p.Process.Signal(syscall.SIGTERM)
			if p.AwaitEnd(t); p.Signal != syscall.SIGTERM || p.Out.String() != "" || p.Err.String() != "" {
				t.Errorf("%d %q %q", p.Status, &p.Out, &p.Err)
			}
			leasetest.Await(t, "the end of all leases", func() bool { return leases() == 0 })
		})
	}
}

// TestReleaseFails has most of the members frozen when the command ends.
func TestReleaseFails(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, clusterOptions)
	h := reach(strings.Join(c.Endpoints(), ",")).Hold(t, flockEtcd, "name")
	for _, m := range c.Members[1:] {
		m.Freeze()
		t.Cleanup(m.Thaw)
	}
	h.Release(t)
	const want = "flock-etcd: cannot release the lock name, which ends with its lease: cannot reach etcd at "
	if says := h.Err.String(); !strings.HasPrefix(says, want) {
		t.Errorf("it says %q", says)
	}
}

// TestSignalWhileReleasing has a signal come when the command has ended: one that came with another, while etcd
// answers, does no harm, and it ends the attempt where etcd does not answer.
func TestSignalWhileReleasing(t *testing.T) {
	t.Parallel()
	for etcd, c := range map[string]struct {
		disturb func(n cluster.Network)
		says    string
	}{
		"slow": {func(n cluster.Network) { n.Delay(300 * time.Millisecond) }, ""},
		"silent": {cluster.Network.BlackHole,
			"flock-etcd: cannot release the lock NAME, which ends with its lease: cannot reach etcd at "},
	} {
		t.Run(etcd, func(t *testing.T) {
			t.Parallel()
			n := networkTo(t, sharedCluster(t))
			name := leasetest.LockName(t)
			h := reach(n.Endpoints(), "FLOCK_ETCD_TTL=20").Hold(t, flockEtcd, name)
			c.disturb(n)
			h.Input.Close()
			leasetest.Await(t, "the end of the guard",
				func() bool { return len(leasetest.Children(h.Process.Pid)) == 0 })
			began := time.Now()
			h.Process.Signal(syscall.SIGTERM)
			h.AwaitEnd(t)
			took, says := h.EndedAt.Sub(began), strings.ReplaceAll(h.Err.String(), name, "NAME")
			t.Logf("after %v: %s", took.Round(time.Millisecond), says)
			if h.Status != 3 || took > 8*time.Second || (says == "") != (c.says == "") ||
				!strings.HasPrefix(says, c.says) {
				t.Errorf("status %d after %v: %q", h.Status, took, says)
			}
			if keys := line(t, sharedCluster(t), name); (len(keys) == 0) != (c.says == "") {
				t.Errorf("in the line: %q", keys)
			}
		})
	}
}

// loseSlowLock has answers take almost a fifth of the TTL, and returns what is said when a lock is lost.
func loseSlowLock(t *testing.T, name string) (lost string) {
	t.Helper()
	const ttl = 12 * time.Second
	c := sharedCluster(t)
	n := networkTo(t, c)
	e := reach(n.Endpoints(), fmt.Sprint("FLOCK_ETCD_TTL=", ttl.Seconds()))
	holder, before := e.Hold(t, flockEtcd, name), ours(t).Hold(t, flockEtcd, name+"b")
	waiter := e.Queue(t, flockEtcd, name+"b")
	awaitLine(t, c, name+"b", 2)
	n.Delay(ttl * 95 / 1000)
	before.Release(t)
	// One that has lost its place stands in line again, with several questions.
	isIn, end := false, time.Now().Add(4*ttl)
	for ; lost == "" && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		switch {
		case holder.HasEnded():
			lost = holder.Err.String()
		case waiter.HasEnded():
			lost = waiter.Err.String()
		case !isIn && waiter.Out.String() != "":
			isIn, end = true, time.Now().Add(ttl*7/6) // this time must pass without an event
		}
	}
	if lost == "" && !isIn {
		lost = "the waiter does not get the lock"
	}
	n.Delay(0)
	for _, h := range []*leasetest.Holding{holder, waiter} {
		if h.Input.Close(); lost != "" {
			h.Process.Kill()
		} else if h.AwaitEnd(t); h.Status != 3 {
			lost = h.Err.String()
		}
	}
	return lost
}

// TestQuietWhileItWaits counts the requests of waiters.
func TestQuietWhileItWaits(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, cluster.Options{Members: 1})
	const ttl = 5
	lease, err := c.Client().Grant(t.Context(), 300)
	if err != nil {
		t.Fatal(err)
	}
	modes := []struct{ key, option string }{{"x", "-x"}, {"x", "-s"}, {"p", "--permits=1"}}
	for _, mode := range modes {
		name := leasetest.LockName(t) + mode.option
		// A holder without a process makes no requests.
		key := "/flock/" + name + "/line/" + mode.key + "/1"
		if _, err := c.Client().Put(t.Context(), key, `{"has":true}`, clientv3.WithLease(lease.ID)); err != nil {
			t.Fatal(err)
		}
		w := reach(c.Endpoints()[0], fmt.Sprintf("FLOCK_ETCD_TTL=%d", ttl)).Queue(t, flockEtcd, mode.option, name)
		defer w.Process.Kill()
		awaitLine(t, c, name, 2)
	}
	var each float64
	for range 3 { // a slow machine makes it repeat some
		before := metrics(t, c, startedTxns, keepAlives)
		time.Sleep(2 * ttl * time.Second) // what happens in this time is counted
		each = (metrics(t, c, startedTxns, keepAlives) - before) / float64(len(modes))
		t.Logf("%.1f requests of each waiter in two TTL", each)
		if each <= 10 {
			break
		}
	}
	if each > 10 {
		t.Errorf("%.1f requests of each waiter in two TTL, more than one in each fifth of it", each)
	}
	if each < 3 {
		t.Errorf("only %.1f requests of each waiter: the leases cannot have been kept alive", each)
	}
}

// TestManyAtOnce counts the transactions of many who do not exclude each other and come at once. It is not run beside
// others, as it leaves them no processor.
func TestManyAtOnce(t *testing.T) {
	for _, options := range [][]string{
		{"-s", "-n"}, {"-s", "--queue=5"}, {"--permits=100", "-n"}, {"--permits=100", "--queue=5"},
	} {
		t.Run(strings.Join(options, " "), func(t *testing.T) {
			c := ownCluster(t, cluster.Options{Members: 1})
			e := reach(c.Endpoints()[0], "ETCDCTL_DIAL_TIMEOUT=1m")
			n := howMany(t, 20)
			for try := 1; ; try++ {
				before := metrics(t, c, startedTxns)
				var all []*leasetest.Child
				for range n {
					all = append(all, e.Start(t, append(append([]string{flockEtcd}, options...), "name", "true")...))
				}
				for _, p := range all { // on a busy machine they say that they were kept waiting
					if p.AwaitEnd(t); p.Status != 0 {
						t.Errorf("status %d: %s", p.Status, &p.Err)
					}
				}
				each := (metrics(t, c, startedTxns) - before) / float64(n)
				t.Logf("%.1f transactions each", each)
				if each <= 5 { // three, and one that tells who has it
					break
				}
				if try == 3 { // a slow machine makes it repeat some
					t.Fatalf("%.1f transactions each", each)
				}
			}
		})
	}
}

// TestTransactionsOfCooldown counts those of a holder with a cooldown: its place, a look, the cooldown at the start,
// which also tells who has the lock, and the one at the end.
func TestTransactionsOfCooldown(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, cluster.Options{Members: 1})
	e := reach(c.Endpoints()[0], "FLOCK_ETCD_TTL=60")
	least := 5.0
	for i := 0; i < 3 && least > 4; i++ { // a slow machine makes it repeat some
		before := metrics(t, c, startedTxns)
		e.Run(t, flockEtcd, "--cooldown", "60", fmt.Sprint("name", i), "sleep", "0.5").Check(t, 0, "", "")
		least = min(least, metrics(t, c, startedTxns)-before)
	}
	if least > 4 {
		t.Errorf("%v transactions", least)
	}
}

// TestArrivals has many come one after the other, faster than they are served. Without a limit they wait.
func TestArrivals(t *testing.T) {
	t.Parallel()
	e, name := ours(t), leasetest.LockName(t)
	var all []*leasetest.Child
	for range howMany(t, 40) {
		all = append(all, e.Start(t, flockEtcd, name, "true"))
		time.Sleep(20 * time.Millisecond) // this is what the test is about
	}
	for _, p := range all {
		<-p.Ended
		p.Check(t, 0, "", "")
	}
}
