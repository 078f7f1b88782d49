//go:build linux

package test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.org/flock/fleet/lease/leasetest"
	"example.org/flock/fleet/postgres/test/server"
)

// Each rule of the protocol, by the experiment that made it one.

// TestContract checks the program as flock(1) wants one.
func TestContract(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 2, "default_transaction_isolation=repeatable read")
	to(s).CheckContract(t, flockPostgres)
	if rest := sql(t, s, "SELECT count(*) FROM flock.contender")[0]; rest != "0" {
		t.Errorf("%s rows are left", rest)
	}
}

// TestCrowd has many come at once, to a server whose defaults are wrong for this. Their tokens grow, and none meets
// another.
func TestCrowd(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"repeatable read", "serializable"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			s, name, dir := sharedServer(t), leasetest.LockName(t), t.TempDir()
			var crowd sync.WaitGroup
			for range 8 {
				crowd.Go(func() {
					for range 4 {
						to(s).Run(t, flockPostgres, name, section, "torture", dir, "exclusive", "1").Check(t, 0, "", "")
					}
				})
			}
			crowd.Wait()
			if text := leasetest.Read(dir + "/violations"); text != "" {
				t.Error(text)
			}
			if n := strings.Count(leasetest.Read(dir+"/tokens"), "\n"); n != 32 {
				t.Errorf("%d tokens", n)
			}
		})
	}
}

// TestCanceledCommit has the wait for a standby, which does not exist, canceled. The server answers success then. What
// is asked for nevertheless is not told to anybody before it is replicated.
func TestCanceledCommit(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 10, "client_min_messages=error", "synchronous_commit=local")
	sql(t, s, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	sql(t, s, "SELECT pg_reload_conf()")
	leasetest.Await(t, "the setting", func() bool { return sql(t, s, "SHOW synchronous_standby_names")[0] == "nobody" })
	p := to(s).Start(t, flockPostgres, "name", "echo", "in")
	const waitsForReplica = "WHERE wait_event = 'SyncRep' AND usename = 'cron'"
	leasetest.Await(t, "the first COMMIT", func() bool {
		return sql(t, s, "SELECT count(*) FROM pg_stat_activity "+waitsForReplica)[0] != "0"
	})
	time.Sleep(4 * time.Second) // in which it gives up its first attempt, but cancels nothing
	if n := sql(t, s, "SELECT count(*) FROM flock.contender")[0]; n != "0" {
		t.Errorf("%s rows are visible", n)
	}
	to(s, "PGCONNECT_TIMEOUT=8").Run(t, flockPostgres, "-n", "name", "true").Check(t, 75, "", "flock-postgres: "+
		"cannot reach PostgreSQL at "+s.Host+":5432 in time: no synchronous standby confirms what is committed\n")
	for range 3 {
		leasetest.Await(t, "a COMMIT that waits", func() bool {
			return len(sql(t, s, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity "+waitsForReplica)) > 0
		})
	}
	if n := sql(t, s, "SELECT count(*) FROM flock.contender")[0]; n != "1" {
		t.Errorf("%s rows are visible", n)
	}
	if p.Out.String() != "" || p.HasEnded() {
		t.Fatalf("it runs its command, or has ended: %s%s", &p.Out, &p.Err)
	}
	sql(t, s, "ALTER SYSTEM RESET synchronous_standby_names")
	sql(t, s, "SELECT pg_reload_conf()")
	if p.AwaitEnd(t); p.Status != 0 || p.Out.String() != "in\n" {
		t.Errorf("%d %s%s", p.Status, &p.Out, &p.Err)
	}
}

// TestWarning has the server warn in each transaction, as it does for weeks before its transaction ids come to an end.
// Nobody loses a lock by that.
func TestWarning(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 2)
	sql(t, s, `CREATE FUNCTION flock.warn() RETURNS trigger LANGUAGE plpgsql AS
		$$BEGIN RAISE WARNING 'database "fleet" must be vacuumed within 10000000 transactions'; RETURN NULL; END$$;
		CREATE TRIGGER warn AFTER INSERT OR UPDATE OR DELETE ON flock.contender EXECUTE FUNCTION flock.warn()`)
	to(s).Run(t, flockPostgres, "name", "sleep", "4").Check(t, 0, "", "")
}

// TestAtRest counts what those who wait send while nothing happens.
func TestAtRest(t *testing.T) {
	t.Parallel()
	s, waiters := ownServer(t, 10), 8
	way := proxyTo(t, s)
	h := to(s).Hold(t, flockPostgres, "name")
	for range waiters {
		by(way).Start(t, flockPostgres, "name", "true")
	}
	awaitLine(t, s, "name", 1+waiters)
	awaitIdle(t, s, 1+waiters)
	before := way.Messages()
	time.Sleep(10 * time.Second)
	n := way.Messages() - before
	t.Logf("%d messages of %d waiters in 10 s", n, waiters)
	if n > waiters*10*6/10 {
		t.Errorf("%d messages of %d waiters in 10 s", n, waiters)
	}
	h.Release(t)
}

// TestStoppedBetween stops a client between the two messages of a change. It must not keep the others waiting.
func TestStoppedBetween(t *testing.T) {
	t.Parallel()
	s, name := sharedServer(t), leasetest.LockName(t)
	way := proxyTo(t, s)
	way.HoldAt("BEGIN ISOLATION")
	stopped := by(way).Start(t, flockPostgres, name, "echo", "in")
	leasetest.Await(t, "the first message", func() bool { return !way.Holds() })
	kill(stopped, syscall.SIGSTOP)
	began := time.Now()
	to(s).Run(t, flockPostgres, "-w", "8", name, "echo", "in").Check(t, 0, "in\n", "")
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("it waited for %v", d)
	}
	kill(stopped, syscall.SIGCONT)
	stopped.AwaitEnd(t).Check(t, 0, "in\n", "")
}

// TestTakenInVain has a contender get its lock by an attempt that is not answered, and a cooldown begin before the next
// one. So it waits, and is no holder.
func TestTakenInVain(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 60)
	way := proxyTo(t, s)
	sql(t, s, `CREATE FUNCTION flock.cool() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			UPDATE flock.name SET cools = clock_timestamp() + interval '1 hour'; RETURN NULL;
		END $$;
		CREATE TRIGGER cool AFTER INSERT ON flock.contender EXECUTE FUNCTION flock.cool()`)
	way.HoldAt("INSERT INTO flock.contender")
	w := by(way).Queue(t, flockPostgres, "--cooldown", "1", "name")
	leasetest.Await(t, "the second attempt", func() bool {
		return sql(t, s, "SELECT count(*) FROM flock.contender WHERE seq IS NULL")[0] == "1"
	})
	checkOut(t, s, w)
	sql(t, s, "DROP TRIGGER cool ON flock.contender; UPDATE flock.name SET cools = NULL")
	wake(t, s, "true")
	w.AwaitOutput(t)
	w.Release(t)
}

// TestOpenTransaction has a transaction open elsewhere while a lock is renewed very often: what the renewals leave
// behind cannot be removed then, and each look goes through all of it. A holder keeps its lock nevertheless.
// FLOCK_RENEWALS says how often; with a million, which takes half a minute to make, a look takes a tenth of a second.
func TestOpenTransaction(t *testing.T) {
	t.Parallel()
	n := 200000
	if often := os.Getenv("FLOCK_RENEWALS"); often != "" {
		fmt.Sscan(often, &n)
	}
	s := ownServer(t, 4)
	conn, err := s.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	const snapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class"
	if _, err := conn.Exec(t.Context(), snapshot).ReadAll(); err != nil {
		t.Fatal(err)
	}
	// The lock has another holder, which stays. Without the indexes this is made quickly; with them each is searched
	// all the time.
	sql(t, s, fmt.Sprintf(`INSERT INTO flock.name VALUES ('name', 1, 0);
		INSERT INTO flock.contender VALUES (gen_random_uuid(), 'name', NULL, 1, 'shared', 1, '0', 'end',
			now(), now(), now(), now() + interval '1 day', 1, 'h', 1, 'u');
		ALTER TABLE flock.contender DROP CONSTRAINT contender_name_fkey, DROP CONSTRAINT contender_pkey;
		DROP INDEX flock.contender_name_idx; ALTER TABLE flock.name DROP CONSTRAINT name_pkey;
		DO $$ DECLARE a tid; b tid; BEGIN
			SELECT ctid INTO a FROM flock.contender;
			SELECT ctid INTO b FROM flock.name;
			FOR i IN 1..%d LOOP
				UPDATE flock.contender SET renewed = clock_timestamp() WHERE ctid = a RETURNING ctid INTO a;
				UPDATE flock.name SET seq = seq + 1 WHERE ctid = b RETURNING ctid INTO b;
			END LOOP; END $$`, n))
	sql(t, s, `ALTER TABLE flock.name ADD PRIMARY KEY (name);
		ALTER TABLE flock.contender ADD PRIMARY KEY (key), ADD FOREIGN KEY (name) REFERENCES flock.name;
		CREATE INDEX ON flock.contender (name)`)
	began := time.Now()
	to(s).Run(t, flockPostgres, "-n", "name", "true").Check(t, 1, "", "")
	looked := time.Since(began)
	h := to(s).Hold(t, flockPostgres, "-s", "name")
	time.Sleep(5 * time.Second) // longer than the TTL
	if h.HasEnded() {
		t.Fatalf("the lock is lost: %s", &h.Err)
	}
	h.ReleaseSilent(t)
	began = time.Now()
	to(s).Run(t, flockPostgres, "-s", "-n", "name", "true").Check(t, 0, "", "")
	t.Logf("after %d renewals a refusal takes %v, a command %v", n, looked, time.Since(began))
}

// TestRenewalsAreHot looks whether renewals leave the indexes alone.
func TestRenewalsAreHot(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 2)
	h := to(s).Hold(t, flockPostgres, "name")
	stat := func() (updates, hot int) {
		fmt.Sscan(sql(t, s, "SELECT sum(n_tup_upd), sum(n_tup_hot_upd) FROM pg_stat_user_tables "+
			"WHERE schemaname = 'flock' AND relname <> 'server'")[0], &updates, &hot)
		return updates, hot
	}
	leasetest.Await(t, "updates", func() bool { n, _ := stat(); return n > 10 })
	if n, hot := stat(); hot != n {
		t.Errorf("%d of %d updates leave the indexes alone", hot, n)
	}
	h.ReleaseSilent(t)
}

// TestFewConnections has many wait at a server that has few connections. No holder loses its lock, and all get theirs.
// It is not run beside others, as it leaves them no processor.
func TestFewConnections(t *testing.T) {
	s, waiters := ownServer(t, 10, "max_connections=20"), 40
	h := to(s).Hold(t, flockPostgres, "name")
	var all []*leasetest.Child
	for range waiters {
		all = append(all, to(s, "PGCONNECT_TIMEOUT=300").Start(t, flockPostgres, "name", "echo", "in"))
	}
	awaitLine(t, s, "name", waiters+1)
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end) && !h.HasEnded(); {
		time.Sleep(100 * time.Millisecond)
	}
	h.Release(t)
	leasetest.AwaitEnds(t, all)
	for _, p := range all { // on a busy machine they say that they were kept waiting
		if p.Status != 0 || p.Out.String() != "in\n" {
			t.Errorf("status %d: %s%s", p.Status, p.Out.String(), p.Err.String())
		}
	}
}

// TestWoken has those who wait be told when the lock is free. One that has found out that it is not told would come in
// half a second later on average; one that has not would look when its row has to be renewed, after 24 s. On a busy
// machine everything takes longer, so the hand-overs are compared with runs that need not wait. Readers come in
// together.
func TestWoken(t *testing.T) {
	t.Parallel()
	s, name := ownServer(t, 60), leasetest.LockName(t)
	h := to(s).Hold(t, flockPostgres, name)
	var line []*leasetest.Holding
	for i := range 6 {
		line = append(line, to(s).Queue(t, flockPostgres, name))
		awaitLine(t, s, name, 2+i)
	}
	r1, r2 := to(s).Queue(t, flockPostgres, "-s", name), to(s).Queue(t, flockPostgres, "-s", name)
	awaitLine(t, s, name, 9)
	awaitIdle(t, s, 9)
	var handOvers, runs []time.Duration
	for _, next := range line {
		began := time.Now()
		h.ReleaseSilent(t)
		h = next
		h.AwaitOutput(t)
		handOvers = append(handOvers, time.Since(began))
		began = time.Now()
		to(s).Run(t, flockPostgres, "-n", name+"-free", "true").Check(t, 0, "", "")
		runs = append(runs, time.Since(began))
	}
	slices.Sort(handOvers)
	slices.Sort(runs)
	t.Logf("hand-overs: %v, runs: %v", handOvers, runs)
	if handOvers[2] > 100*time.Millisecond+2*runs[2] || handOvers[5] > 10*time.Second+2*runs[5] {
		t.Errorf("nobody was woken")
	}
	h.ReleaseSilent(t)
	r1.AwaitOutput(t)
	r2.AwaitOutput(t)
	r1.ReleaseSilent(t)
	r2.ReleaseSilent(t)
}

// awaitIdle waits until each of so many has a connection, by which it sends nothing.
func awaitIdle(t *testing.T, s *server.Server, n int) {
	t.Helper()
	leasetest.Await(t, "a connection of each", func() bool {
		return sql(t, s, "SELECT count(*) FROM pg_stat_activity WHERE usename = 'cron' AND "+
			"state_change < now() - interval '300 ms'")[0] == strconv.Itoa(n)
	})
}

// TestKilledHolder kills a holder and its guard. Nobody gets in before its row expires, and then somebody does, who
// waited or did not.
func TestKilledHolder(t *testing.T) {
	t.Parallel()
	s, name := ownServer(t, 3), leasetest.LockName(t)
	h := to(s).Hold(t, flockPostgres, name)
	w := to(s).Start(t, flockPostgres, name, "echo", "in")
	awaitLine(t, s, name, 2)
	kill(h.Child, syscall.SIGKILL)
	began := time.Now()
	to(s).Run(t, flockPostgres, "-n", name, "true").Check(t, 1, "", "")
	w.AwaitEnd(t).Check(t, 0, "in\n", "")
	if d := time.Since(began); d < 2*time.Second || d > 5*time.Second+allowance {
		t.Errorf("the next one came in after %v", d)
	}
}

// TestCooldown has the cooldown of each who had the lock, and of nobody else.
func TestCooldown(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 2)
	cool := func(t *testing.T, more ...string) *leasetest.Child {
		words := append([]string{flockPostgres, "-n", "--cooldown", "30"}, more...)
		return to(s).Run(t, append(words, leasetest.LockName(t), "true")...)
	}
	t.Run("waiter killed", func(t *testing.T) {
		h := to(s).Hold(t, flockPostgres, leasetest.LockName(t))
		w := to(s).Queue(t, flockPostgres, "--cooldown", "30", leasetest.LockName(t))
		awaitLine(t, s, leasetest.LockName(t), 2)
		kill(w.Child, syscall.SIGKILL)
		leasetest.Await(t, "the end of its row", func() bool { return cool(t, "--queue", "1", "-w", "0").Status == 1 })
		h.ReleaseSilent(t)
		to(s).Run(t, flockPostgres, leasetest.LockName(t), "true").Check(t, 0, "", "")
		to(s).Run(t, flockPostgres, "-w", "20", "--cooldown", "30", leasetest.LockName(t), "true").Check(t, 0, "", "")
	})
	t.Run("nothing to break", func(t *testing.T) { // the command that is told ends the cooldown
		name := leasetest.LockName(t)
		cool(t).Check(t, 0, "", "")
		p := to(s).Run(t, flockPostgres, "--break", name)
		before, cure, _ := strings.Cut(p.Err.String(), "\nflock-postgres: this ends the cooldown: ")
		if p.Status != 1 || !strings.HasPrefix(before, "flock-postgres: nobody has the lock "+name+
			", which is in its cooldown until ") || strings.Count(cure, "\n") != 1 {
			t.Errorf("%d %s", p.Status, &p.Err)
		}
		cool(t).Check(t, 1, "", "")
		to(s).Run(t, "sh", "-c", cure).Check(t, 0, "UPDATE 1\n", "")
		cool(t).Check(t, 0, "", "")
		to(s).Run(t, flockPostgres, "--break", name+"-free").Check(t, 1, "", "")
	})
	t.Run("others pass", func(t *testing.T) { // one who waits for the cooldown is in nobody's way
		cool(t).Check(t, 0, "", "")
		w := to(s).Queue(t, flockPostgres, "--cooldown", "30", leasetest.LockName(t))
		awaitLine(t, s, leasetest.LockName(t), 1)
		to(s).Run(t, flockPostgres, "-n", leasetest.LockName(t), "true").Check(t, 0, "", "")
		p := to(s).Run(t, flockPostgres, "--holders", leasetest.LockName(t))
		if p.Status != 1 || strings.Count(p.Out.String(), "\n") != 3 { // the cooldown, the waiter, the last run
			t.Errorf("%d %s%s", p.Status, &p.Out, &p.Err)
		}
		kill(w.Child, syscall.SIGTERM)
		w.AwaitEnd(t)
	})
}

// TestNames has names of all bytes, which are all told apart.
func TestNames(t *testing.T) {
	t.Parallel()
	s := sharedServer(t)
	for _, name := range []string{
		"it's", `back\slash`, "\xff\xfe", "Ünïcode", "/var/lock/x", "a b\tc", "$1", "%s", strings.Repeat("x", 2000),
	} {
		h := to(s).Hold(t, flockPostgres, name)
		to(s).Run(t, flockPostgres, "-n", name, "true").Check(t, 1, "", "")
		p := to(s).Run(t, flockPostgres, "--holders", name)
		if p.Status != 0 || strings.Count(p.Out.String(), "\n") != 1 {
			t.Errorf("%q: %d %s%s", name, p.Status, &p.Out, &p.Err)
		}
		h.ReleaseSilent(t)
	}
}

// TestInherited looks at what the command gets: libpq's variables, but not the URL, and no descriptor.
func TestInherited(t *testing.T) {
	t.Parallel()
	s := sharedServer(t)
	e := leasetest.Environment{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "PGOPTIONS=-c search_path=x", "PGTZ=UTC",
		"PGAPPNAME=mine", "FLOCK_POSTGRES_URL=postgres://cron:geheim@" + s.Host + ":" + s.Port +
			"/postgres?sslmode=disable&options=-cwork_mem%3D64kB"}
	e.Run(t, flockPostgres, leasetest.LockName(t), "sh", "-c",
		`env | grep -e FLOCK_P -e geheim -e PGHOST; echo $PGOPTIONS; ls -l /proc/$$/fd | grep -c socket:`).
		Check(t, 1, "-c search_path=x\n0\n", "")
	h := e.Hold(t, flockPostgres, leasetest.LockName(t))
	leasetest.Await(t, "one connection with the name", func() bool { // the one of before may still be about to end
		return sql(t, s, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'mine'")[0] == "1"
	})
	h.ReleaseSilent(t)
	p := exec.Command(flock, "--backend", "postgres", "-n", leasetest.LockName(t), "echo", "in")
	p.Env = to(s)
	if out, err := p.CombinedOutput(); err != nil || string(out) != "in\n" {
		t.Errorf("%v %s", err, out)
	}
}
