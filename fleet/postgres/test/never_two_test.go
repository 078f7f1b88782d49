//go:build linux

package test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/flock/fleet/lease/leasetest"
	"example.org/flock/fleet/postgres/test/server"
)

// A scene is a holder, whose command has descendants that only SIGKILL ends, and a waiter behind it. Each has a way of
// its own to the server.
type scene struct {
	*testing.T
	server         *server.Server
	way, other     *server.Proxy // of the holder and of the waiter
	holder, waiter *leasetest.Child
	guard          int
	dir, name      string
	ttl            time.Duration
	fault          time.Time
	dead           chan time.Time // when all processes under the lock are dead
}

func newScene(t *testing.T, s *server.Server, seconds int) *scene {
	t.Helper()
	x := &scene{T: t, server: s, dir: t.TempDir(), name: leasetest.LockName(t),
		ttl: time.Duration(seconds) * time.Second}
	x.way, x.other = proxyTo(t, s), proxyTo(t, s)
	x.holder, x.dead = by(x.way).StartFamily(t, section, x.dir, flockPostgres, x.name)
	x.waiter = by(x.other).StartNext(t, section, x.dir, flockPostgres, x.name)
	awaitLine(t, s, x.name, 2)
	x.guard = leasetest.GuardOf(t, x.holder.Process.Pid)
	// Not in the first moments of the row, which would be the easiest.
	time.Sleep(x.ttl / 2)
	select {
	case <-x.dead:
		t.Fatalf("the command has ended before anything happened: %s", &x.holder.AwaitEnd(t).Err)
	default:
	}
	return x
}

// strike has something happen. What follows counts from its end, before which the holder may still reach the server.
func (x *scene) strike(fault func()) {
	fault()
	x.fault = time.Now()
}

// diesIn waits until all are dead, and checks that this is in time.
func (x *scene) diesIn(limit time.Duration) time.Time {
	x.Helper()
	select {
	case dead := <-x.dead:
		if d := dead.Sub(x.fault); d > limit {
			x.Errorf("the command was dead after %v", d)
		}
		return dead
	case <-time.After(x.ttl + allowance):
		x.Fatalf("the command or a descendant lives on: %s", leasetest.Read(x.dir+"/ready"))
	}
	return time.Time{}
}

// nextOne checks the next one: it met nobody, and came in good time.
func (x *scene) nextOne(limit time.Duration) {
	x.Helper()
	entered := x.waiter.CheckNext(x.T, x.dir).Sub(x.fault)
	if x.Logf("the next one came in after %v", entered.Round(time.Millisecond)); entered > limit+allowance {
		x.Errorf("the next one had to wait for %v", entered)
	}
}

// TestNeverTwo disturbs a holder, but not the server.
func TestNeverTwo(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 3)
	for name, fault := range map[string]func(x *scene){
		"black hole":             func(x *scene) { x.way.BlackHole() },
		"connections cut":        func(x *scene) { x.way.Cut() },
		"flock-postgres stopped": func(x *scene) { kill(x.holder, syscall.SIGSTOP) },
		"flock-postgres killed":  func(x *scene) { kill(x.holder, syscall.SIGKILL) },
		"guard killed":           func(x *scene) { syscall.Kill(x.guard, syscall.SIGKILL) },
		"both stopped": func(x *scene) {
			kill(x.holder, syscall.SIGSTOP)
			syscall.Kill(x.guard, syscall.SIGSTOP)
		},
		"flock-postgres killed and guard stopped": func(x *scene) {
			syscall.Kill(x.guard, syscall.SIGSTOP)
			kill(x.holder, syscall.SIGKILL)
		},
		"flock-postgres stopped and guard killed": func(x *scene) {
			kill(x.holder, syscall.SIGSTOP)
			syscall.Kill(x.guard, syscall.SIGKILL)
		},
		"row deleted": func(x *scene) {
			sql(x.T, s, "DELETE FROM flock.contender WHERE taken IS NOT NULL AND name = '"+x.name+"'")
		},
		"all connections of the server terminated": func(x *scene) {
			terminate(x.T, s, x.ttl/2)
			kill(x.holder, syscall.SIGKILL)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newScene(t, s, 3)
			if name == "row deleted" { // then there may be two until the holder sees it: nobody may do that
				kill(x.waiter, syscall.SIGSTOP)
				defer kill(x.waiter, syscall.SIGKILL)
			}
			x.strike(func() { fault(x) })
			x.diesIn(x.ttl)
			if name != "row deleted" {
				x.nextOne(x.ttl + 2*time.Second)
			}
		})
	}
}

// terminate ends all connections of the ordinary user, again and again.
func terminate(t *testing.T, s *server.Server, long time.Duration) {
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		sql(t, s, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'cron'")
	}
}

// TestServerFrozen stops the server for longer than the TTL. Then it goes on, with what it was about to do.
func TestServerFrozen(t *testing.T) {
	t.Parallel()
	x := newScene(t, ownServer(t, 3), 3)
	x.strike(x.server.Freeze)
	x.diesIn(x.ttl)
	time.Sleep(time.Until(x.fault.Add(x.ttl)))
	x.server.Thaw()
	x.nextOne(2*x.ttl + 2*time.Second)
}

// TestServerCrashed has the server crash and start anew. A holder that reaches it in time goes on; a dead one keeps
// others out until the quiet time is over.
func TestServerCrashed(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 8)
	x := newScene(t, s, 8)
	token := lastToken(t, s, x.name)
	cut := time.Now()
	x.way.Cut()
	x.strike(s.Crash)
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	x.way.Restore()
	away := time.Since(cut)
	time.Sleep(time.Until(x.fault.Add(x.ttl * 3 / 2)))
	select {
	case <-x.dead:
		t.Fatalf("the lock is lost, after %v without a server: %s", away, &x.holder.Err)
	default:
	}
	x.strike(func() { kill(x.holder, syscall.SIGKILL) })
	x.diesIn(x.ttl)
	x.nextOne(x.ttl + 2*time.Second)
	if after := lastToken(t, s, x.name); after <= token {
		t.Errorf("token %d after %d", after, token)
	}
}

// TestCrashedWithHolder has the server crash with a holder, which is dead then, and start anew.
func TestCrashedWithHolder(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 3)
	x := newScene(t, s, 3)
	x.strike(s.Crash)
	kill(x.holder, syscall.SIGKILL)
	syscall.Kill(x.guard, syscall.SIGCONT)
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	x.diesIn(x.ttl)
	x.nextOne(2*x.ttl + 2*time.Second)
}

// TestLaggingReplica promotes a replica that has not got the row of the holder, whose server is gone. Nobody gets the
// lock there before the holder's command is dead.
func TestLaggingReplica(t *testing.T) {
	t.Parallel()
	// One that is still there has to meet the new primary before its time is over.
	for name, ttl := range map[string]int{"gone": 4, "still there": 12} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			primary := ownServer(t, ttl)
			replica, err := primary.Replica()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(replica.Stop)
			if err := replica.Disconnect(); err != nil {
				t.Fatal(err)
			}
			x := newScene(t, primary, ttl)
			x.strike(primary.Crash)
			if name == "gone" {
				x.way.Cut()
			}
			x.way.LeadTo(replica)
			x.other.LeadTo(replica)
			if err := replica.Promote(); err != nil {
				t.Fatal(err)
			}
			if rows := sql(t, replica, "SELECT count(*) FROM flock.contender WHERE taken IS NOT NULL"); rows[0] != "0" {
				t.Errorf("the replica did not lag")
			}
			x.diesIn(x.ttl)
			if name == "still there" && !strings.Contains(x.holder.AwaitEnd(t).Err.String(), "PostgreSQL has dropped its row") {
				t.Errorf("the holder says %s", &x.holder.Err)
			}
			x.nextOne(2*x.ttl + 2*time.Second)
		})
	}
}

// TestReplicaRefuses asks a replica, alone and beside its primary: at another host, or at another port of the same one.
func TestReplicaRefuses(t *testing.T) {
	t.Parallel()
	primary := ownServer(t, 4)
	replica, err := primary.Replica()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(replica.Stop)
	for _, words := range [][]string{{"name", "true"}, {"--holders"}} {
		leasetest.Await(t, "the reason", func() bool { // it may be that there was no answer in time
			p := to(replica, "PGCONNECT_TIMEOUT=2").Run(t, append([]string{flockPostgres}, words...)...)
			if p.Status != 75 {
				t.Fatalf("%d %s", p.Status, &p.Err)
			}
			return p.Err.String() == "flock-postgres: cannot reach PostgreSQL at "+replica.Host+
				":5432 in time: the server is a replica\n"
		})
	}
	first, second := proxyTo(t, replica), proxyTo(t, primary)
	for _, e := range []leasetest.Environment{
		reach(replica.Host+","+primary.Host, "5432"),
		reach(first.Host+","+second.Host, first.Port+","+second.Port),
	} {
		e.Run(t, flockPostgres, "-n", "name", "echo", "in").Check(t, 0, "in\n", "")
	}
}

// TestSwitchover has an address lead from the primary to a replica, which is promoted later. One that waits goes on
// waiting, by a connection that it has from before, too.
func TestSwitchover(t *testing.T) {
	t.Parallel()
	primary := ownServer(t, 10) // a server that is silent for 4 s would be the first remark
	replica, err := primary.Replica()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(replica.Stop)
	way := proxyTo(t, primary)
	h := by(way).Hold(t, flockPostgres, "name")
	w := by(way).Start(t, flockPostgres, "name", "echo", "in")
	awaitLine(t, replica, "name", 2)
	way.LeadTo(replica)
	primary.Crash()
	leasetest.Await(t, "the remark", func() bool {
		return strings.Contains(w.Err.String(), "fail; the wait for name goes on: the server is a replica\n")
	})
	if err := replica.Promote(); err != nil {
		t.Fatal(err)
	}
	h.Input.Close()
	if w.AwaitEnd(t); w.Status != 0 || w.Out.String() != "in\n" {
		t.Errorf("%d %s%s", w.Status, &w.Out, &w.Err)
	}
}

// TestPromotedClock promotes a replica whose clock is a minute ahead. By that the holder has expired long ago; it lives
// nevertheless.
func TestPromotedClock(t *testing.T) {
	t.Parallel()
	primary := ownServer(t, 10)
	replica, err := primary.Replica()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(replica.Stop)
	way := proxyTo(t, primary)
	h := by(way).Hold(t, flockPostgres, "name")
	awaitLine(t, replica, "name", 1)
	way.Cut()
	primary.Crash()
	if err := replica.Promote(); err != nil {
		t.Fatal(err)
	}
	const minuteAgo = "interval '1 minute'"
	sql(t, replica, "UPDATE flock.server SET quiet = quiet - "+minuteAgo)
	sql(t, replica, "UPDATE flock.contender SET renewed = renewed - "+minuteAgo+", expires = expires - "+minuteAgo)
	way.LeadTo(replica)
	way.Restore()
	leasetest.Await(t, "a renewal at the new primary", func() bool {
		return sql(t, replica, "SELECT count(*) FROM flock.contender WHERE expires > now()")[0] == "1"
	})
	to(replica).Run(t, flockPostgres, "-n", "name", "true").Check(t, 1, "", "")
	h.Release(t) // it has warned, perhaps
}

// TestLateRenewal has a renewal be under way while the network is cut and its holder dies. It arrives when the row has
// expired, and does not revive it.
func TestLateRenewal(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 3)
	way := proxyTo(t, s)
	h := by(way).Hold(t, flockPostgres, "name")
	way.HoldBackAt("UPDATE flock.contender")
	leasetest.Await(t, "a renewal", func() bool { return !way.Holds() })
	kill(h.Child, syscall.SIGKILL)
	h.AwaitEnd(t)
	leasetest.Await(t, "the end of the row's time", func() bool {
		return sql(t, s, "SELECT count(*) FROM flock.contender WHERE expires > clock_timestamp()")[0] == "0"
	})
	way.Restore()
	leasetest.Await(t, "the end of its connection", func() bool {
		return sql(t, s, "SELECT count(*) FROM pg_stat_activity WHERE usename = 'cron'")[0] == "0"
	})
	to(s).Run(t, flockPostgres, "-n", "name", "echo", "in").Check(t, 0, "in\n", "")
}

// TestNewTables drops the tables and makes them anew while somebody has a lock. Nobody gets that before its command is
// dead. The token grows nevertheless.
func TestNewTables(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 4)
	x := newScene(t, s, 4)
	sql(t, s, "UPDATE flock.name SET token = token + 1000") // as if many had had it
	token := lastToken(t, s, x.name)
	x.strike(func() {
		if err := makeTables(s, 4, ""); err != nil {
			t.Fatal(err)
		}
	})
	x.diesIn(x.ttl)
	x.nextOne(2*x.ttl + 2*time.Second)
	if after := lastToken(t, s, x.name); after <= token {
		t.Errorf("token %d after %d", after, token)
	}
}

// lastToken returns the token of the last holder of a lock.
func lastToken(t *testing.T, s *server.Server, name string) int64 {
	n, err := strconv.ParseInt(sql(t, s, "SELECT token FROM flock.name WHERE name = '"+name+"'")[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
