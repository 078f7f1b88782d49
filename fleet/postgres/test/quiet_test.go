//go:build linux

package test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"example.org/flock/fleet/lease/leasetest"
	"example.org/flock/fleet/postgres/test/server"
)

// After a start of PostgreSQL nobody knows who has a lock until the TTL is over. What is told then, and that a job
// which asks once a night runs in that night.

const mayHave = "earlier locks may still be held"

// wasRestarted has it look as if the server was started anew since it was asked last, which was yesterday.
func wasRestarted(t *testing.T, s *server.Server) {
	t.Helper()
	sql(t, s, `UPDATE flock.server SET started = started - interval '1 day', quiet = quiet - interval '1 day'`)
	sql(t, s, `UPDATE flock.contender SET came = came - interval '1 day', taken = taken - interval '1 day',
		renewed = renewed - interval '1 day', expires = expires - interval '1 day'`)
	sql(t, s, "UPDATE flock.name SET cools = cools - interval '1 day'")
}

// leaveDead leaves the row of a holder that died with its server.
func leaveDead(t *testing.T, s *server.Server, name string) {
	t.Helper()
	h := to(s).Hold(t, flockPostgres, "--cooldown", "3600", name)
	kill(h.Child, syscall.SIGKILL)
	h.AwaitEnd(t)
	wasRestarted(t, s)
}

// leaveCool leaves a cooldown that has ended.
func leaveCool(t *testing.T, s *server.Server, name string) {
	t.Helper()
	to(s).Run(t, flockPostgres, "--cooldown", "3600", name, "true").Check(t, 0, "", "")
	wasRestarted(t, s)
}

// TestNight has three hosts run the line of a crontab in the night after a restart. The last holder may have died with
// the server. One of them runs the job, and the others say nothing.
func TestNight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, wait string
		leave      func(t *testing.T, s *server.Server, name string)
	}{
		{"-n", "-n", leaveCool},
		{"-n, power loss", "-n", leaveDead},
		{"--queue 0, power loss", "--queue=0", leaveDead},
		{"-w 5", "-w5", leaveCool},
		{"-w 5, power loss", "-w5", leaveDead},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			s := ownServer(t, 2)
			leasetest.Await(t, "a night with a run", func() bool {
				c.leave(t, s, "nightly")
				return night(t, s, c.wait)
			})
		})
	}
}

// night reports whether the job has run. It may be that all say that it could not be known in time whether it may: this
// machine may need longer than -w for anything.
func night(t *testing.T, s *server.Server, wait string) bool {
	t.Helper()
	var hosts []*leasetest.Child
	for range 3 {
		hosts = append(hosts, to(s).Start(t, flockPostgres, wait, "-E", "0", "--cooldown", "3600", "nightly",
			"echo", "in"))
	}
	runs, unknown := 0, 0
	for _, h := range hosts {
		h.AwaitEnd(t)
		runs += strings.Count(h.Out.String(), "in\n")
		switch {
		case h.Status == 0 && h.Err.String() == "":
		case h.Status == 75 && wait != "-n":
			unknown++
		default:
			t.Errorf("%d %s", h.Status, &h.Err)
		}
	}
	if runs != 1 && unknown == 0 || runs > 1 {
		t.Fatalf("%d of three have run the job", runs)
	}
	return runs == 1
}

// TestUnknown asks a server that nobody has changed since it was started: what does not change anything says so, again
// and again; a wait that ends before the quiet time is no conflict.
func TestUnknown(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 60)
	leaveDead(t, s, "name")
	const nobody = "flock-postgres: PostgreSQL was restarted or its clock set back: " + mayHave +
		"; the next request waits for 60 s\n"
	for range 2 {
		p := to(s).Run(t, flockPostgres, "--holders", "name")
		p.Check(t, 75, p.Out.String(), nobody)
		if rows := p.Out.String(); !strings.Contains(rows, ", end unknown name/last\n") || strings.Count(rows, "\n") != 1 {
			t.Errorf("not only the last run: %s", rows)
		}
		to(s).Run(t, flockPostgres, "--holders").Check(t, 75, "", nobody)
		to(s).Run(t, flockPostgres, "--break", "name").Check(t, 75, "", nobody)
	}
	check := func(p *leasetest.Child) {
		t.Helper()
		if text := p.Err.String(); p.Status != 75 || !strings.Contains(text, mayHave) || strings.Contains(text, "held by") {
			t.Errorf("%q: %d %s", p.Args, p.Status, text)
		}
	}
	check(to(s).Run(t, flockPostgres, "-w", "0.5", "-E", "0", "name", "true"))
	sql(t, s, "UPDATE flock.server SET quiet = now() + interval '1 minute'") // it is in its quiet time
	for _, words := range []string{"--holders name", "--holders", "-w 2 -E 0 name true", "-w 2 -E 0 --queue 1 name true",
		"--report 0 -w 2 -E 0 -s name true"} {
		check(to(s).Run(t, append([]string{flockPostgres}, strings.Fields(words)...)...))
	}
	if sql(t, s, "SELECT count(*) FROM flock.contender")[0] != "1" {
		t.Error("somebody has left a row")
	}
}

// TestNewTablesSaySo has tables that nobody has used, at a server that was not started anew.
func TestNewTablesSaySo(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 10)
	if err := makeTables(s, 60, ""); err != nil {
		t.Fatal(err)
	}
	to(s).Run(t, flockPostgres, "--holders").Check(t, 75, "", "flock-postgres: the tables are new: "+
		mayHave+"; the next request waits for 60 s\n")
	check := func(start string) {
		t.Helper()
		p := to(s).Run(t, flockPostgres, "-w", "3", "name", "true")
		if text := p.Err.String(); p.Status != 75 || !strings.HasPrefix(text, "flock-postgres: "+start+": "+mayHave) {
			t.Errorf("%d %s", p.Status, text)
		}
	}
	sql(t, s, `UPDATE flock.server SET started = pg_postmaster_start_time(), epoch = 1,
		quiet = now() + interval '1 minute'`)
	check("the tables are new")
	sql(t, s, "UPDATE flock.server SET epoch = 2")
	check("PostgreSQL was restarted or its clock set back")
}

// TestQuietTime has one come who does not wait. It waits until it is known whether it has the lock, and those behind it
// are refused.
func TestQuietTime(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 60)
	wasRestarted(t, s)
	first := to(s).Start(t, flockPostgres, "-n", "name", "echo", "in")
	awaitLine(t, s, "name", 1)
	to(s).Run(t, flockPostgres, "-n", "name", "echo", "in").Check(t, 1, "", "")
	p := to(s).Run(t, flockPostgres, "--holders", "name")
	if p.Status != 75 || strings.Count(p.Out.String(), "exclusive (waiting)") != 1 {
		t.Errorf("%d %s%s", p.Status, &p.Out, &p.Err)
	}
	isLong := sql(t, s, "SELECT quiet > came + interval '55 s' FROM flock.server, flock.contender")[0] == "t"
	if !isLong || first.HasEnded() {
		t.Errorf("it does not wait for a TTL: %s", &first.Out)
	}
	endQuietTime(t, s)
	first.AwaitEnd(t).Check(t, 0, "in\n", "")
}

// endQuietTime has it be over, and wakes those who wait for that.
func endQuietTime(t *testing.T, s *server.Server) {
	t.Helper()
	sql(t, s, "UPDATE flock.server SET quiet = now()")
	wake(t, s, "true")
}

// wake has waiters, of whom a condition is true, look.
func wake(t *testing.T, s *server.Server, which string) {
	t.Helper()
	sql(t, s, "SELECT pg_notify('flock_' || replace(key::text, '-', ''), '') FROM flock.contender WHERE "+which)
}

// TestClockSetBack has the server's clock set back by an hour in the quiet time that has begun with the first request.
// One that waits, and one that comes then, wait for a TTL nevertheless.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 5)
	wasRestarted(t, s)
	w := to(s).Start(t, flockPostgres, "name", "echo", "in")
	awaitLine(t, s, "name", 1)
	sql(t, s, "UPDATE flock.server SET quiet = quiet + interval '1 hour'")
	sql(t, s, "UPDATE flock.contender SET expires = expires + interval '1 hour'")
	w.AwaitEnd(t).Check(t, 0, "in\n", "")
	sql(t, s, "UPDATE flock.server SET quiet = now() + interval '1 hour'")
	to(s).Run(t, flockPostgres, "-n", "name", "echo", "in").Check(t, 0, "in\n", "")
}

// TestOldHolderRenews has the holder of before live, and renew its lock after another one has come that does not wait.
// That is refused as soon as it is known, also if it respects a cooldown.
func TestOldHolderRenews(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"-n", "-n --cooldown 60"} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			s := ownServer(t, 60)
			way := proxyTo(t, s)
			h := by(way).Hold(t, flockPostgres, "name")
			way.BlackHole()
			sql(t, s, "UPDATE flock.server SET started = started - interval '1 day'")
			words := append([]string{flockPostgres, "-E", "9"}, strings.Fields(option)...)
			next := to(s).Start(t, append(words, "name", "true")...)
			awaitLine(t, s, "name", 2)
			way.Restore()
			leasetest.Await(t, "the renewal", func() bool {
				return sql(t, s, "SELECT count(*) FROM flock.contender c, flock.server s WHERE c.epoch = s.epoch")[0] == "2"
			})
			wake(t, s, "taken IS NULL")
			next.AwaitEnd(t).Check(t, 9, "", "")
			if sql(t, s, "SELECT quiet > now() FROM flock.server")[0] != "t" {
				t.Errorf("it was refused after the quiet time")
			}
			to(s).Run(t, flockPostgres, "-n", "-E", "9", "name", "true").Check(t, 9, "", "")
			if p := to(s).Run(t, flockPostgres, "--holders", "name"); !strings.Contains(p.Out.String(), "exclusive") {
				t.Errorf("%d %s%s", p.Status, &p.Out, &p.Err)
			}
			h.Release(t) // it may have warned
		})
	}
}

// TestOrderAfterRestart has waiters with a cooldown meet the server in another order than that in which they came,
// while the holder has not met it yet. They get in nevertheless, and who waits is no holder for anybody.
func TestOrderAfterRestart(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 60)
	way := proxyTo(t, s)
	cool := []string{flockPostgres, "--cooldown", "60", "--cooldown-from", "success", "name"}
	h := by(way).Hold(t, cool...)
	var line []*leasetest.Holding
	for i := range 3 {
		line = append(line, to(s).Queue(t, cool...))
		awaitLine(t, s, "name", 2+i)
	}
	awaitIdle(t, s, 4)
	way.BlackHole()
	wasRestarted(t, s)
	const met = "SELECT count(*) FROM flock.contender c, flock.server s WHERE c.epoch = s.epoch AND pid = %d"
	awaitMet := func(p *leasetest.Holding) {
		t.Helper()
		leasetest.Await(t, "a row of the new epoch", func() bool {
			return sql(t, s, fmt.Sprintf(met, p.Process.Pid))[0] == "1"
		})
	}
	for _, i := range []int{2, 1, 0} {
		wake(t, s, fmt.Sprintf("pid = %d", line[i].Process.Pid))
		awaitMet(line[i])
	}
	way.Restore()
	awaitMet(h)
	endQuietTime(t, s)
	for _, next := range line {
		h.Release(t) // with a failure; it may have warned
		h = next
		h.AwaitOutput(t)
		p := to(s).Run(t, flockPostgres, "--holders", "name")
		rows := p.Out.String()
		if n := strings.Count(rows, "\n") - strings.Count(rows, "(waiting)"); n != 1 || p.Status != 0 {
			t.Errorf("%d holders: %s", n, rows)
		}
	}
	h.Release(t)
}

// TestClockSetBackInRenewal has the server's clock set back in each renewal, just after that has met the server. The
// row of the holder is there, and not dead: the lock is not lost.
func TestClockSetBackInRenewal(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 5)
	h := to(s).Hold(t, flockPostgres, "name")
	sql(t, s, `CREATE FUNCTION flock.set_back() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			NEW.quiet = NEW.quiet + interval '1 hour'; RETURN NEW;
		END $$;
		CREATE TRIGGER set_back BEFORE UPDATE ON flock.server FOR EACH ROW EXECUTE FUNCTION flock.set_back();
		UPDATE flock.server SET started = '-infinity'`)
	leasetest.Await(t, "two renewals", func() bool {
		return h.HasEnded() || sql(t, s, "SELECT epoch >= 3 FROM flock.server")[0] == "t"
	})
	sql(t, s, "DROP TRIGGER set_back ON flock.server")
	h.ReleaseSilent(t)
}
