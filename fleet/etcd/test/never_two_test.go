//go:build linux

package test

import (
	"context"
	"fmt"
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

// What cannot be tried here: a machine that sleeps, since CLOCK_BOOTTIME of a time namespace can be set only before its
// first process.

// A scene is a holder, whose command has descendants that only SIGKILL ends, and a waiter behind it. Both reach the
// cluster by networks of their own.
type scene struct {
	*testing.T
	cluster        *cluster.Cluster
	network        cluster.Network // of the holder
	holder, waiter *leasetest.Child
	guard          int
	dir, name      string
	ttl            time.Duration

	fault time.Time
	late  time.Duration  // the lateness at the fault
	dead  chan time.Time // when all processes under the lock are dead
	gone  chan time.Time // when the key is gone, as one sees it who is not disturbed
}

// newScene sets a scene with a lease of some seconds, or of more where the machine is too slow to keep that alive.
func newScene(t *testing.T, c *cluster.Cluster, seconds int) *scene {
	t.Helper()
	s := &scene{T: t, cluster: c, dir: t.TempDir(), name: fmt.Sprint(leasetest.LockName(t), "-", seconds),
		ttl: time.Duration(seconds) * time.Second, gone: make(chan time.Time, 1)}
	var networks [2]cluster.Network
	for i := range networks {
		n := networkTo(t, c)
		networks[i] = n
	}
	s.network = networks[0]
	ttl := "FLOCK_ETCD_TTL=" + strconv.Itoa(seconds)
	s.holder, s.dead = reach(s.network.Endpoints(), ttl).StartFamily(t, section, s.dir, flockEtcd, "-n", s.name)
	key := line(t, c, s.name)[0]
	s.waiter = reach(networks[1].Endpoints(), ttl).StartNext(t, section, s.dir, flockEtcd, s.name)
	awaitLine(t, c, s.name, 2)
	s.guard = leasetest.GuardOf(t, s.holder.Process.Pid)

	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	watch := c.Client().Watch(ctx, key)
	go func() {
		for r := range watch {
			for _, e := range r.Events {
				if e.Type == clientv3.EventTypeDelete {
					s.gone <- time.Now()
				}
			}
		}
	}()
	// Not in the first moments of the lease, which would be the easiest.
	time.Sleep(s.ttl / 2)
	select {
	case <-s.dead:
		s.holder.AwaitEnd(t)
		if !strings.Contains(s.holder.Err.String(), "not kept alive in time") || seconds > 10 {
			t.Fatalf("the command has ended before anything happened: %s", &s.holder.Err)
		}
		t.Logf("a lease of %d s was not kept alive in time", seconds)
		kill(s.waiter.Process.Pid, syscall.SIGKILL)
		return newScene(t, c, 2*seconds)
	default:
	}
	return s
}

// holderIs checks the end of the holder.
func (s *scene) holderIs(status int, text string) {
	s.Helper()
	s.holder.AwaitEnd(s.T)
	if late := lateness() - s.late; s.holder.Status == 128+9 && late > s.ttl/10 {
		s.Logf("the kernel killed the holder, on a machine that was late by %v", late)
		return
	}
	if s.holder.Status != status || !strings.Contains(s.holder.Err.String(), text) {
		s.Errorf("the holder ended with %d and %q, expected %d and %q", s.holder.Status, &s.holder.Err, status, text)
	}
}

// check finds out whether all are dead before anybody else can have the lock, and whether the next one comes in good
// time.
func (s *scene) check(election time.Duration) {
	s.Helper()
	var dead time.Time
	select {
	case dead = <-s.dead:
	case <-time.After(s.ttl + allowance):
		s.Fatalf("the command or a descendant lives on: %s", processes(s.dir))
	}
	entered := s.waiter.CheckNext(s.T, s.dir)
	report := fmt.Sprintf("dead after %v", dead.Sub(s.fault).Round(time.Millisecond))
	select {
	case gone := <-s.gone:
		report += fmt.Sprintf(", %v before its key was gone", gone.Sub(dead).Round(time.Millisecond))
		// A machine that is late kills, and hears of it, too late, by more than it wakes those that sleep. The next one
		// finds out for certain: see violations.
		if worst := worstDelay(s.fault); dead.Sub(gone) > 2*worst+20*time.Millisecond {
			s.Errorf("the key was gone before the command was dead, and this machine was never late by more than %v",
				worst)
		}
	case <-time.After(time.Second):
		s.Log("the end of the key was not seen")
	}
	report += fmt.Sprintf("; the next one after %v", entered.Sub(s.fault).Round(time.Millisecond))
	s.Log(report)
	if dead.Sub(s.fault) > s.ttl {
		s.Errorf("the command was dead too late: the lease was kept alive before, for no longer than %v", s.ttl)
	}
	if limit := s.ttl + time.Second + election + 2*(lateness()-s.late); entered.Sub(s.fault) > limit {
		s.Errorf("the next one had to wait for longer than %v", limit)
	}
}

// processes describes those that a family has left.
func processes(dir string) string {
	var list []string
	for _, pid := range strings.Fields(leasetest.Read(dir + "/ready")) {
		if words := strings.ReplaceAll(leasetest.Read("/proc/"+pid+"/cmdline"), "\x00", " "); words != "" {
			state := strings.Fields(leasetest.Read("/proc/" + pid + "/stat"))
			list = append(list, fmt.Sprintf("process %s (state %s, child of %s): %s", pid, state[2], state[3], words))
		}
	}
	return strings.Join(list, "; ")
}

// TestNeverTwo disturbs a holder, but no member.
func TestNeverTwo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault func(s *scene)
		ended func(s *scene)
	}{
		{"black hole", func(s *scene) { s.network.BlackHole() },
			func(s *scene) { s.holderIs(75, "its lease was not kept alive in time; the command was killed") }},
		{"connections cut", func(s *scene) { s.network.Cut() },
			func(s *scene) { s.holderIs(75, "its lease was not kept alive in time; the command was killed") }},
		// The kernel continues those that are stopped in time to kill.
		{"flock-etcd stopped", func(s *scene) { kill(s.holder.Process.Pid, syscall.SIGSTOP) },
			func(s *scene) { s.holderIs(75, "; the command was killed") }},
		{"flock-etcd killed", func(s *scene) { kill(s.holder.Process.Pid, syscall.SIGKILL) },
			func(s *scene) { s.holderIs(128+9, "") }},
		{"guard stopped", func(s *scene) { kill(s.guard, syscall.SIGSTOP) },
			func(s *scene) { s.holderIs(75, "; the command was killed") }},
		{"guard killed", func(s *scene) { kill(s.guard, syscall.SIGKILL) },
			func(s *scene) { s.holderIs(75, "its guard was killed; the command was killed") }},
		{"both stopped", func(s *scene) { kill(s.holder.Process.Pid, syscall.SIGSTOP); kill(s.guard, syscall.SIGSTOP) },
			func(s *scene) { s.holderIs(75, "; the command was killed") }},
		{"flock-etcd stopped and guard killed",
			func(s *scene) { kill(s.holder.Process.Pid, syscall.SIGSTOP); kill(s.guard, syscall.SIGKILL) },
			func(s *scene) { s.holderIs(75, "; the command was killed") }},
		{"flock-etcd killed and guard stopped",
			func(s *scene) { kill(s.guard, syscall.SIGSTOP); kill(s.holder.Process.Pid, syscall.SIGKILL) },
			func(s *scene) { s.holderIs(128+9, "") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, sharedCluster(t), 2)
			s.fault, s.late = time.Now(), lateness()
			c.fault(s)
			if strings.HasSuffix(c.name, " stopped") && s.goesOn() {
				return
			}
			s.check(0)
			c.ended(s)
		})
	}
}

// election is how much longer a lease may live when the leader dies: until a follower misses it, which is one to two
// election timeouts, and one that the new leader gives to all leases.
func (s *scene) election() time.Duration { return 3 * s.cluster.Election }

// TestBothKilled kills flock-etcd and its guard at once. For the command itself the kernel keeps the promise; for
// descendants of it nobody can.
func TestBothKilled(t *testing.T) {
	t.Parallel()
	name := leasetest.LockName(t)
	h := ours(t, "FLOCK_ETCD_TTL=2").Start(t, flockEtcd, name, "sh", "-c", "trap '' TERM HUP; echo $$; exec sleep 80")
	h.AwaitOutput(t)
	command := strings.TrimSpace(h.Out.String())
	guard := leasetest.GuardOf(t, h.Process.Pid)
	began := time.Now()
	kill(guard, syscall.SIGSTOP) // so that it does nothing between
	kill(h.Process.Pid, syscall.SIGKILL)
	kill(guard, syscall.SIGKILL)
	leasetest.Await(t, "the end of the command",
		func() bool { return !strings.Contains(leasetest.Read("/proc/"+command+"/cmdline"), "sleep") })
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("the command was dead after %v", d)
	}
	awaitLine(t, sharedCluster(t), name, 0)
}

// TestGoesOn loses a leader, and later the connection to each member in turn, while a holder with the default lease has
// the lock. Its command must not notice.
func TestGoesOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		lose func(*cluster.Member)
		part time.Duration // the leader is back after a lease divided by this
	}{
		{"leader killed", (*cluster.Member).Kill, 1},
		// after a whole lease it may end those that are alive: etcd issue 15247
		{"leader frozen", (*cluster.Member).Freeze, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, ownCluster(t, cluster.Options{}), 10)
			leader, err := s.cluster.Leader()
			if err != nil {
				t.Fatal(err)
			}
			c.lose(leader)
			time.Sleep(s.ttl / c.part) // there is nothing to wait for: this time must pass without an event
			if err := leader.Restore(); err != nil {
				t.Fatal(err)
			}
			for _, p := range s.network {
				p.BlackHole()
				time.Sleep(s.ttl / 5)
				p.Restore()
			}
			select {
			case <-s.dead:
				t.Errorf("the command is dead: %s", &s.holder.Err)
			case <-s.gone:
				t.Error("the key is gone")
			default:
			}
			kill(s.holder.Process.Pid, syscall.SIGKILL)
			s.fault, s.late = time.Now(), lateness()
			s.check(0)
		})
	}
}

// goesOn finds out whether the command lives on although its guard was stopped, which may be: the kernel has continued
// the guard, and the lease was kept alive. Then the guard must do its work again.
func (s *scene) goesOn() bool {
	select {
	case dead := <-s.dead:
		s.dead <- dead
		return false
	case <-time.After(s.ttl * 3 / 2):
	}
	if keys := line(s.T, s.cluster, s.name); len(keys) != 2 {
		s.Errorf("the command lives on, but in the line there are %q", keys)
	}
	s.fault, s.late = time.Now(), lateness()
	kill(s.holder.Process.Pid, syscall.SIGKILL)
	s.check(0)
	return true
}

func kill(pid int, sig syscall.Signal) { syscall.Kill(pid, sig) }

// TestNeverTwoMembers disturbs the members themselves. What is disturbed is restored when the command is dead, or has
// had its time to die.
func TestNeverTwoMembers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		fault   func(s *scene, leader *cluster.Member, others []*cluster.Member)
		restore bool
	}{
		{"all frozen", func(s *scene, leader *cluster.Member, others []*cluster.Member) {
			leader.Freeze()
			others[0].Freeze()
			others[1].Freeze()
		}, true},
		{"leader and another frozen", func(s *scene, leader *cluster.Member, others []*cluster.Member) {
			leader.Freeze()
			others[0].Freeze()
		}, true},
		{"quorum lost by freezing", func(s *scene, leader *cluster.Member, others []*cluster.Member) {
			others[0].Freeze()
			others[1].Freeze()
		}, true},
		{"quorum lost by killing", func(s *scene, leader *cluster.Member, others []*cluster.Member) {
			others[0].Kill()
			others[1].Kill()
		}, true},
		{"leader killed with flock-etcd", func(s *scene, leader *cluster.Member, others []*cluster.Member) {
			leader.Kill()
			kill(s.holder.Process.Pid, syscall.SIGKILL)
		}, false},
		{"leader frozen with flock-etcd", func(s *scene, leader *cluster.Member, others []*cluster.Member) {
			leader.Freeze()
			kill(s.holder.Process.Pid, syscall.SIGSTOP)
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, ownCluster(t, cluster.Options{}), 3)
			leader, err := s.cluster.Leader()
			if err != nil {
				t.Fatal(err)
			}
			var others []*cluster.Member
			for _, m := range s.cluster.Members {
				if m != leader {
					others = append(others, m)
				}
			}
			s.fault, s.late = time.Now(), lateness()
			c.fault(s, leader, others)
			if !c.restore {
				s.check(s.election())
				return
			}
			var dead time.Time
			select {
			case dead = <-s.dead:
			case <-time.After(s.ttl + allowance):
				t.Fatalf("the command or a descendant lives on: %s", processes(s.dir))
			}
			s.dead <- dead
			if dead.Sub(s.fault) > s.ttl {
				t.Errorf("dead after %v", dead.Sub(s.fault))
			}
			for _, m := range s.cluster.Members {
				if err := m.Restore(); err != nil {
					t.Fatal(err)
				}
			}
			restored := time.Now()
			if err := s.cluster.Await(allowance); err != nil {
				t.Fatal(err)
			}
			t.Logf("dead after %v, restored after %v, writes after %v",
				dead.Sub(s.fault), restored.Sub(s.fault), time.Since(s.fault))
			s.fault = restored // since when the lease may have its whole time again
			s.holderIs(75, "its lease was not kept alive in time; the command was killed")
			s.check(s.election())
		})
	}
}

// TestEarlierChildren kills the guard of a flock-etcd that has children of its own, since a shell has become it. They
// live on; what the command has started does not.
func TestEarlierChildren(t *testing.T) {
	t.Parallel()
	name := leasetest.LockName(t)
	h := ours(t).Start(t, "sh", "-c", `sleep 81 & echo $!; exec "$@"`, "sh", flockEtcd, name,
		"sh", "-c", `setsid sh -c 'trap "" TERM; echo $$; exec sleep 82' & wait`)
	leasetest.Await(t, "both children", func() bool { return strings.Count(h.Out.String(), "\n") == 2 })
	pids := strings.Fields(h.Out.String())
	for _, child := range leasetest.Children(h.Process.Pid) {
		if strconv.Itoa(child) != pids[0] {
			kill(child, syscall.SIGKILL)
		}
	}
	if h.AwaitEnd(t); h.Status != 75 || !strings.Contains(h.Err.String(), "its guard was killed") {
		t.Errorf("status %d, %s", h.Status, &h.Err)
	}
	if strings.Contains(leasetest.Read("/proc/"+pids[1]+"/cmdline"), "sleep") {
		t.Error("the command's child lives on")
	}
	earlier, _ := strconv.Atoi(pids[0])
	if !strings.Contains(leasetest.Read("/proc/"+pids[0]+"/cmdline"), "sleep") {
		t.Error("the earlier child was killed")
	}
	kill(earlier, syscall.SIGKILL)
}

// TestNoDescriptors has the guard look for descendants when the limit of open files is reached.
func TestNoDescriptors(t *testing.T) {
	t.Parallel()
	name := leasetest.LockName(t)
	h := ours(t).Start(t, "sh", "-c", `ulimit -n 12; exec "$@"`, "sh", flockEtcd, name,
		"sh", "-c", `setsid sh -c 'trap "" TERM; echo $$; exec sleep 83' & wait`)
	h.AwaitOutput(t)
	child := strings.TrimSpace(h.Out.String())
	if _, err := sharedCluster(t).Client().Delete(t.Context(), awaitLine(t, sharedCluster(t), name, 1)[0]); err != nil {
		t.Fatal(err)
	}
	if h.AwaitEnd(t); h.Status != 75 || !strings.Contains(h.Err.String(), "the command was killed") {
		t.Errorf("status %d, %s", h.Status, &h.Err)
	}
	if strings.Contains(leasetest.Read("/proc/"+child+"/cmdline"), "sleep") {
		t.Error("the command's child lives on")
	}
}

// TestSmallLimits runs with limits that are almost, or too, small: as the manual says, there is the command or a
// message, and never a hang.
func TestSmallLimits(t *testing.T) {
	t.Parallel()
	e, name := ours(t, "FLOCK_ETCD_TTL=2"), leasetest.LockName(t)
	for limit, want := range map[string]string{
		"-n 14": `^0 in\n$`,
		"-n 12": `^0 in\n$`,
		"-n 10": `^71 flock-etcd: .*: Too many open files\n$`,
		"-n 9":  `^71 flock-etcd: .*: Too many open files\n$`,
		"-n 8":  `^71 flock-etcd: .*: Too many open files\n$`,
		"-n 7":  `^71 flock-etcd: .*: Too many open files\n$`,
		"-n 6":  `^71 flock-etcd: .*: Too many open files\n$`,
		"-n 5":  `^(2|71|75) (?s:.+)$`,
		"-n 4":  `^(2|71|75) (?s:.+)$`,
		"-n 3":  `^(2|71|75) (?s:.+)$`,
		// In kibibytes.
		"-v 2000000": `^0 in\n$`,
		"-v 300000":  `^(2|71|75) (?s:.+)$`,
		"-v 60000":   `^(2|71|75) (?s:.+)$`,
	} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			p := e.Run(t, "sh", "-c", `ulimit `+limit+`; exec "$@"`, "sh",
				flockEtcd, "-w", "20", name+limit, "echo", "in").AwaitEnd(t)
			got := fmt.Sprintf("%d %s%s", p.Status, &p.Out, &p.Err)
			if !regexp.MustCompile(want).MatchString(got) {
				t.Errorf("%s; expected %s", got, want)
			}
			p = e.Run(t, flockEtcd, "-w", "20", name+limit, "echo", "in") // on a busy machine it may warn
			if p.Status != 0 || p.Out.String() != "in\n" {
				t.Errorf("%d %s%s", p.Status, &p.Out, &p.Err)
			}
		})
	}
}
