//go:build linux

package test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/authpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/fleet/etcd/test/cluster"
	"example.org/flock/fleet/lease/leasetest"
)

// A run is what is written of the last run of a lock.
type run struct {
	PID    int
	Key    string
	Token  int64
	Since  int64
	Ended  int64
	Status *int
	Signal *int
}

// lastRun returns what is written of the last run of a lock; zero: nothing is.
func lastRun(t *testing.T, c *cluster.Cluster, name string) (r run) {
	t.Helper()
	answer, err := c.Client().Get(t.Context(), "/flock/"+name+"/last")
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range answer.Kvs {
		if err := json.Unmarshal(kv.Value, &r); err != nil || kv.Lease != 0 {
			t.Errorf("%s, with the lease %x: %v", kv.Value, kv.Lease, err)
		}
	}
	return r
}

// awaitRun waits until what is written is about a process.
func awaitRun(t *testing.T, c *cluster.Cluster, name string, pid int) (r run) {
	t.Helper()
	leasetest.Await(t, "the last run", func() bool { r = lastRun(t, c, name); return r.PID == pid })
	return r
}

// expectLast fails the test unless the last row of the list of a lock, for which nobody is in line, says so of the last
// run.
func expectLast(t *testing.T, e leasetest.Environment, name, end string) {
	t.Helper()
	p := e.Run(t, flockEtcd, "--holders", name)
	if p.Status != 1 || !regexp.MustCompile(` last .*`+end+` +/flock/`+name+`/last\n$`).MatchString(p.Out.String()) {
		t.Errorf("not the end %q: status %d, %s", end, p.Status, &p.Out)
	}
}

// TestEndOfLast has runs that end in each way.
func TestEndOfLast(t *testing.T) {
	t.Parallel()
	name, e := leasetest.LockName(t), ours(t, "FLOCK_ETCD_TTL=2")
	const until = ` until 20.*, `
	e.Run(t, flockEtcd, name, "sh", "-c", "exit 7").Check(t, 7, "", "")
	expectLast(t, e, name, until+"status 7")
	e.Run(t, flockEtcd, "-s", name, "sh", "-c", "kill -9 $$")
	expectLast(t, e, name, until+"signal 9")
	e.Run(t, flockEtcd, "--permits", "2", name, "/nonexistent")
	expectLast(t, e, name, until+"status 69")
	e.Run(t, flockEtcd, "--cooldown", "60", name, "true").Check(t, 0, "", "")
	expectLast(t, e, name, until+"status 0")
	h := e.Hold(t, flockEtcd, name)
	awaitRun(t, sharedCluster(t), name, h.Process.Pid)
	if p := e.Run(t, flockEtcd, "--holders", name); p.Status != 0 || strings.Contains(p.Out.String(), " last ") {
		t.Errorf("while it runs: %d %s", p.Status, &p.Out)
	}
	e.Run(t, flockEtcd, "--break", name)
	expectLast(t, e, name, ", lost")
	h.AwaitEnd(t)
	expectLast(t, e, name, ", lost")
}

// TestNeverLast: neither a waiter nor one that is refused is the last run. A waiter is when it has the lock.
func TestNeverLast(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"-x", "-s", "--permits=1"} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			name, e, c := leasetest.LockName(t), ours(t), sharedCluster(t)
			first := "-x"
			if option == "--permits=1" {
				first = option
			}
			h := e.Hold(t, flockEtcd, first, name)
			before := awaitRun(t, c, name, h.Process.Pid)
			keys := line(t, c, name)
			if before.Key != keys[0] || before.Ended != 0 || before.Since == 0 || (before.Token != 0) != (first == "-x") {
				t.Errorf("%+v, of %s", before, keys)
			}
			w := e.Queue(t, flockEtcd, option, name)
			awaitLine(t, c, name, 2)
			e.Run(t, flockEtcd, "-n", option, name, "true").Check(t, 1, "", "")
			e.Run(t, flockEtcd, "-w", "1", option, name, "true").Check(t, 1, "", "")
			if got := lastRun(t, c, name); got != before {
				t.Errorf("%+v, not %+v", got, before)
			}
			h.Release(t)
			w.AwaitOutput(t)
			awaitRun(t, c, name, w.Process.Pid)
			w.Release(t)
			if got := lastRun(t, c, name); got.PID != w.Process.Pid || got.Status == nil || *got.Status != 3 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestLastOfSeveral: of those that have the lock together the one that has got it last is the last run, whoever ends
// last.
func TestLastOfSeveral(t *testing.T) {
	t.Parallel()
	name, e, c := leasetest.LockName(t), ours(t), sharedCluster(t)
	a := e.Hold(t, flockEtcd, "-s", name)
	awaitRun(t, c, name, a.Process.Pid)
	e.Run(t, flockEtcd, "-s", name, "true").Check(t, 0, "", "")
	short := lastRun(t, c, name)
	if short.PID == a.Process.Pid || short.Ended == 0 {
		t.Errorf("the short run is not the last: %+v", short)
	}
	if p := e.Run(t, flockEtcd, "--holders", name); p.Status != 0 || !strings.Contains(p.Out.String(), " last ") {
		t.Errorf("while another one has the lock: %d %s", p.Status, &p.Out)
	}
	b := e.Hold(t, flockEtcd, "-s", name)
	awaitRun(t, c, name, b.Process.Pid)
	a.Release(t)
	if got := lastRun(t, c, name); got.PID != b.Process.Pid || got.Ended != 0 {
		t.Errorf("one that came before: %+v", got)
	}
	b.Release(t)
	if got := lastRun(t, c, name); got.PID != b.Process.Pid || got.Status == nil || *got.Status != 3 {
		t.Errorf("the last one: %+v", got)
	}
}

// TestLastOfTheDead kills a holder: its run has no end.
func TestLastOfTheDead(t *testing.T) {
	t.Parallel()
	name, e, c := leasetest.LockName(t), ours(t, "FLOCK_ETCD_TTL=2"), sharedCluster(t)
	h := e.Hold(t, flockEtcd, "--cooldown", "600", name)
	if got := lastRun(t, c, name); got.PID != h.Process.Pid { // it is written before the command begins
		t.Errorf("%+v", got)
	}
	h.Process.Kill()
	awaitLine(t, c, name, 0)
	expectLast(t, e, name, ", lost")
}

// TestLastIsRefused has a user who may not write what is written of the last run. Locks work as without that.
func TestLastIsRefused(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, cluster.Options{Members: 1, Flags: []string{"--bcrypt-cost", "4"}})
	ctx := t.Context()
	grant := func(prefix string, p authpb.Permission_Type) error {
		_, err := c.Client().RoleGrantPermission(ctx, "narrow", prefix, clientv3.GetPrefixRangeEnd(prefix),
			clientv3.PermissionType(p))
		return err
	}
	for _, step := range []func() error{
		func() error { _, err := c.Client().UserAdd(ctx, "root", "geheim"); return err },
		func() error { _, err := c.Client().UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := c.Client().UserAdd(ctx, "cron", "geheim"); return err },
		func() error { _, err := c.Client().RoleAdd(ctx, "narrow"); return err },
		func() error { return grant("/flock/", clientv3.PermRead) },
		func() error { return grant("/flock/name/cooldown/", clientv3.PermReadWrite) },
		func() error { return grant("/flock/name/line/", clientv3.PermReadWrite) },
		func() error { _, err := c.Client().UserGrantRole(ctx, "cron", "narrow"); return err },
		func() error { _, err := c.Client().AuthEnable(ctx); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	e := reach(c.Endpoints()[0], "ETCDCTL_USER=cron:geheim")
	for _, options := range []string{"-n", "-n --cooldown 1", "-w 60 --cooldown 1", "-n -s"} {
		words := append([]string{flockEtcd}, strings.Fields(options)...)
		e.Run(t, append(words, "name", "sh", "-c", "exit 7")...).Check(t, 7, "", "")
	}
	h := e.Hold(t, flockEtcd, "name")
	w := e.Queue(t, flockEtcd, "name")
	leasetest.Await(t, "the waiter", func() bool {
		return strings.Contains(e.Run(t, flockEtcd, "--holders", "name").Out.String(), "(waiting)")
	})
	h.ReleaseSilent(t)
	w.AwaitOutput(t)
	w.ReleaseSilent(t)
	if p := e.Run(t, flockEtcd, "--holders", "name"); p.Status != 1 || strings.Contains(p.Out.String(), "last") {
		t.Errorf("%d %s", p.Status, &p.Out)
	}
}
