//go:build linux

package test

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"example.org/flock/fleet/lease/leasetest"
	"example.org/flock/fleet/postgres/test/server"
)

// lastRun returns what is written of the last run of a lock: the process id, the end, and whether there are a key and
// the times of a run, and a token.
func lastRun(t *testing.T, s *server.Server, name string) string {
	t.Helper()
	return sql(t, s, `SELECT concat_ws(' ', last_pid, CASE WHEN last_ended >= last_taken THEN 'ended' END,
		'status ' || last_status, 'signal ' || last_signal, CASE WHEN last_token = token THEN 'token' END,
		CASE WHEN last_key IS NULL OR last_host = '' OR last_username = '' OR last_taken IS NULL THEN 'incomplete' END)
		FROM flock.name WHERE name = '`+name+`'`)[0]
}

// expectLast fails the test unless the last row of the list of a lock, for which nobody is in line, says so of the last
// run.
func expectLast(t *testing.T, s *server.Server, name, end string) {
	t.Helper()
	p := to(s).Run(t, flockPostgres, "--holders", name)
	if p.Status != 1 || !regexp.MustCompile(` last .*`+end+` +`+name+`/last\n$`).MatchString(p.Out.String()) {
		t.Errorf("not the end %q: status %d, %s%s", end, p.Status, &p.Out, &p.Err)
	}
}

// TestEndOfLast has runs that end in each way.
func TestEndOfLast(t *testing.T) {
	t.Parallel()
	s, name := sharedServer(t), leasetest.LockName(t)
	run := func(words ...string) *leasetest.Child {
		t.Helper()
		return to(s).Run(t, append([]string{flockPostgres}, words...)...)
	}
	run("--holders", name).Check(t, 1, "", "")
	const until = ` until 20.*, `
	run(name, "sh", "-c", "exit 7").Check(t, 7, "", "")
	expectLast(t, s, name, until+"status 7")
	run("-s", name, "sh", "-c", "kill -9 $$")
	expectLast(t, s, name, until+"signal 9")
	run("--permits", "2", name, "/nonexistent")
	expectLast(t, s, name, until+"status 69")
	run("--cooldown", "60", name, "true").Check(t, 0, "", "")
	expectLast(t, s, name, until+"status 0")
	if p := run("--holders"); strings.Contains(p.Out.String(), " last ") {
		t.Errorf("in the list of all locks: %s", &p.Out)
	}
	h := to(s).Hold(t, flockPostgres, name)
	if p := run("--holders", name); p.Status != 0 || strings.Contains(p.Out.String(), " last ") {
		t.Errorf("while it runs: %d %s", p.Status, &p.Out)
	}
	if got, want := lastRun(t, s, name), fmt.Sprint(h.Process.Pid, " token"); got != want {
		t.Errorf("%q, not %q", got, want)
	}
	run("--break", name)
	expectLast(t, s, name, ", lost")
	h.AwaitEnd(t)
	expectLast(t, s, name, ", lost")
}

// TestNeverLast: neither a waiter nor one that is refused is the last run. A waiter is as soon as it has the lock.
func TestNeverLast(t *testing.T) {
	t.Parallel()
	s := sharedServer(t)
	for _, option := range []string{"-x", "-s", "--permits=1"} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			name, first, token := leasetest.LockName(t), "-x", ""
			if option == "--permits=1" {
				first = option
			}
			if option == "-x" {
				token = " token"
			}
			h := to(s).Hold(t, flockPostgres, first, name)
			before := lastRun(t, s, name)
			if !strings.HasPrefix(before, fmt.Sprint(h.Process.Pid)) {
				t.Errorf("process %d is not in %q", h.Process.Pid, before)
			}
			w := to(s).Queue(t, flockPostgres, option, name)
			awaitLine(t, s, name, 2)
			to(s).Run(t, flockPostgres, "-n", option, name, "true").Check(t, 1, "", "")
			to(s).Run(t, flockPostgres, "-w", "1", option, name, "true").Check(t, 1, "", "")
			if got := lastRun(t, s, name); got != before {
				t.Errorf("%q, not %q", got, before)
			}
			h.ReleaseSilent(t)
			w.AwaitOutput(t)
			if got, want := lastRun(t, s, name), fmt.Sprint(w.Process.Pid, token); got != want {
				t.Errorf("%q, not %q", got, want)
			}
			w.ReleaseSilent(t)
			if got, want := lastRun(t, s, name), fmt.Sprint(w.Process.Pid, " ended status 3", token); got != want {
				t.Errorf("%q, not %q", got, want)
			}
		})
	}
}

// TestLastOfSeveral: of those that have the lock together the one that has got it last is the last run, whoever ends
// last.
func TestLastOfSeveral(t *testing.T) {
	t.Parallel()
	s, name := sharedServer(t), leasetest.LockName(t)
	a := to(s).Hold(t, flockPostgres, "-s", name)
	b := to(s).Hold(t, flockPostgres, "-s", name)
	a.ReleaseSilent(t)
	if got, want := lastRun(t, s, name), fmt.Sprint(b.Process.Pid); got != want {
		t.Errorf("%q, not %q", got, want)
	}
	a = to(s).Hold(t, flockPostgres, "-s", name)
	a.ReleaseSilent(t)
	ended := fmt.Sprint(a.Process.Pid, " ended status 3")
	if p := to(s).Run(t, flockPostgres, "--holders", name); p.Status != 0 || !strings.Contains(p.Out.String(), " last ") {
		t.Errorf("while another one has the lock: %d %s", p.Status, &p.Out)
	}
	b.ReleaseSilent(t)
	if got := lastRun(t, s, name); got != ended {
		t.Errorf("%q, not %q", got, ended)
	}
}

// TestLastOfTheDead kills a holder: its run has no end.
func TestLastOfTheDead(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 2)
	h := to(s).Hold(t, flockPostgres, "name")
	kill(h.Child, syscall.SIGKILL)
	leasetest.Await(t, "the end of its row", func() bool {
		return to(s).Run(t, flockPostgres, "--holders", "name").Status == 1
	})
	expectLast(t, s, "name", ", lost")
}
