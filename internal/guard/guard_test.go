//go:build unix

package guard

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/sys"
)

// The guard is this test's program, started once more.

var farAway = Deadlines{1 << 61, 1 << 61, 1 << 61}

func init() {
	grace = 100 * time.Millisecond // also in the guard
	Begin()
}

// A testGuard is a guard whose reports come by a channel.
type testGuard struct {
	*Guard
	reports <-chan Message
}

func startCommand(t *testing.T, argv ...string) *testGuard {
	t.Helper()
	g, err := Start(argv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return &testGuard{g, g.Reports()}
}

// start starts a guard for a shell script, which finds a temporary directory in $0.
func start(t *testing.T, script string) (g *testGuard, dir string) {
	t.Helper()
	dir = t.TempDir()
	return startCommand(t, "sh", "-c", script, dir), dir
}

// last returns the last report.
func last(t *testing.T, g *testGuard) (r Message) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case next, ok := <-g.reports:
			if !ok {
				t.Fatalf("the guard is gone; before that %+v", r)
			}
			if r = next; r.Kind == Ended || r.Kind == Failed {
				return r
			}
		case <-limit:
			t.Fatalf("no end; last %+v", r)
		}
	}
}

// await waits until a file exists.
func await(t *testing.T, file string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func TestStatus(t *testing.T) {
	for script, want := range map[string]int{
		"exit 0": 0, "exit 3": 3, "kill -9 $$": 137, `test "$FLOCK_TOKEN" = 7`: 0,
	} {
		g, _ := start(t, script)
		g.Give(Message{Kind: Run, Deadlines: farAway, Token: 7})
		if r := last(t, g); r.Number != want || r.Cause == Lost || r.Kind != Ended {
			t.Errorf("%s: %+v", script, r)
		}
		g.Close()
		g.Close() // as flock-etcd does
	}
}

func TestFailure(t *testing.T) {
	for _, name := range []string{"/nonexistent", "/" + strings.Repeat("\x01", 20000)} {
		g := startCommand(t, name)
		g.Give(Message{Kind: Run, Deadlines: farAway, Token: 0})
		r := last(t, g)
		err := r.Failure(name)
		isRight := strings.HasPrefix(err.Text, "failed to execute /") && err.Status == failure.ExUnavailable
		if r.Kind != Failed || !isRight {
			t.Errorf("%+v %v", r, err)
		}
		select { // flock waits for that
		case r, ok := <-g.reports:
			if ok {
				t.Errorf("a report after the last: %+v", r)
			}
		case <-time.After(time.Minute):
			t.Error("the guard stays")
		}
		g.Close()
	}
}

func TestSignal(t *testing.T) {
	g, dir := start(t, `trap "exit 4" USR1; >$0/ready; while :; do sleep .01; done`)
	g.Give(Message{Kind: Run, Deadlines: farAway, Token: 0})
	await(t, dir+"/ready")
	g.Give(Message{Kind: Signal, Number: int(syscall.SIGUSR1)})
	if r := last(t, g); r.Number != 4 || r.Cause == Lost {
		t.Errorf("%+v", r)
	}
}

func TestTooLate(t *testing.T) {
	g, dir := start(t, ">$0/began")
	g.Give(Message{Kind: Run, Deadlines: Deadlines{Now(), Now() + time.Hour, Now() + time.Hour}, Token: 0})
	if r := last(t, g); r.Cause != Lost {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(dir + "/began"); err == nil {
		t.Error("the command was started")
	}
}

// A command that ends at SIGTERM.
func TestTerm(t *testing.T) {
	g, dir := start(t, `trap "exit 5" TERM; >$0/ready; while :; do sleep .01; done`)
	g.Give(Message{Kind: Run, Deadlines: farAway, Token: 0})
	await(t, dir+"/ready")
	g.Give(Message{Kind: Move, Deadlines: Deadlines{Now(), farAway.Kill, farAway.End}})
	if r := last(t, g); r.Number != 5 || r.Cause != Lost {
		t.Errorf("%+v", r)
	}
}

// One that does not, with a child that does not either.
func TestKill(t *testing.T) {
	for _, abort := range []bool{false, true} {
		g, dir := start(t, `trap "" TERM; `+
			`sh -c 'echo $$ >$0/new; mv $0/new $0/child; while :; do sleep .01; done' $0 & wait; `+
			`while :; do sleep .01; done`)
		g.Give(Message{Kind: Run, Deadlines: farAway, Token: 0})
		await(t, dir+"/child")
		if abort {
			g.Give(Message{Kind: Abort})
		} else {
			g.Give(Message{Kind: Move, Deadlines: Deadlines{Now(), Now() + 50*time.Millisecond, farAway.End}})
		}
		if r := last(t, g); r.Number != 137 || r.Cause != Lost {
			t.Errorf("%+v", r)
		}
		text, err := os.ReadFile(filepath.Join(dir, "child"))
		if err != nil {
			t.Fatal(err)
		}
		child := strings.TrimSpace(string(text))
		end := time.Now().Add(time.Minute)
		for ; exec.Command("kill", "-0", child).Run() == nil; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("its child lives")
			}
		}
	}
}

// TestStoppedMeanwhile moves the deadlines of a guard that is stopped: when it goes on, only the last ones count.
func TestStoppedMeanwhile(t *testing.T) {
	g, dir := start(t, `>$0/ready; while ! [ -e $0/end ]; do sleep .01; done`)
	g.Give(Message{Kind: Run, Deadlines: farAway, Token: 0})
	await(t, dir+"/ready")
	unix.Kill(g.pid, unix.SIGSTOP)
	if _, err := syscall.Wait4(g.pid, nil, syscall.WUNTRACED, nil); err != nil {
		t.Fatal(err)
	}
	for _, d := range []Deadlines{{Now(), farAway.Kill, farAway.End}, farAway} {
		m := Message{Kind: Move, Deadlines: d}
		m.send(g.socketFD)
	}
	unix.Kill(g.pid, unix.SIGCONT)
	if err := os.WriteFile(dir+"/end", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := last(t, g); r.Number != 0 || r.Cause == Lost {
		t.Errorf("%+v", r)
	}
}

// reports returns all reports.
func reports(t *testing.T, g *testGuard) (all []Message) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case m, ok := <-g.reports:
			if !ok {
				return all
			}
			all = append(all, m)
		case <-limit:
			t.Fatalf("no end; %+v", all)
		}
	}
}

// stubborn is a script whose child does not end by SIGTERM.
const stubborn = `(trap "" TERM; sh -c 'echo $$ >$0/new; mv $0/new $0/child; while :; do sleep .01; done' $0) &
	until [ -e $0/child ]; do sleep .01; done; `

// childLives reports whether the child of a stubborn script lives.
func childLives(t *testing.T, dir string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "child"))
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command("kill", "-0", strings.TrimSpace(string(text))).Run() == nil
}

// TestRules has a child that does not end by SIGTERM, of a command that runs for too long, or has ended in time, or
// whose guard gets no orders any more. When the guard is gone, so is the child, unless it was left in time and may
// stay.
func TestRules(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		rules  Rules
		orphan bool
		status int
		cause  Cause
		stays  bool
	}{
		"limit":         {"exec sleep 1000", Rules{Limit: time.Second}, false, 143, AtLimit, false},
		"in time":       {"exit 3", Rules{Limit: time.Hour}, false, 3, NoCause, true},
		"kill children": {"exit 3", Rules{Leftovers: true}, false, 3, LeftSome, false},
		"no orders":     {"exec sleep 1000", Rules{Limit: time.Hour}, true, 143, Orphaned, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, dir := start(t, stubborn+c.script)
			g.Give(Message{Kind: Run, Rules: c.rules})
			if c.orphan {
				await(t, dir+"/child")
				unix.Shutdown(g.socketFD, unix.SHUT_WR)
			}
			all := reports(t, g)
			last := all[len(all)-1]
			if last.Kind != Ended || last.Number != c.status || last.Cause != c.cause {
				t.Errorf("%+v", all)
			}
			if childLives(t, dir) != c.stays {
				t.Errorf("the child lives: %v", !c.stays)
			}
			overran := len(all) > 1 && all[1].Kind == Overrun
			if overran != (c.cause == AtLimit) {
				t.Errorf("%+v", all)
			}
			if c.stays {
				text, _ := os.ReadFile(dir + "/child")
				exec.Command("kill", "-9", strings.TrimSpace(string(text))).Run()
			}
		})
	}
}

// TestIgnoredContinue runs where SIGCONT is ignored, which continues a stopped process all the same, but wakes nobody.
func TestIgnoredContinue(t *testing.T) {
	signal.Ignore(unix.SIGCONT)
	defer signal.Reset(unix.SIGCONT)
	g, _ := start(t, stubborn+"exec sleep 1000")
	g.Give(Message{Kind: Run, Rules: Rules{Limit: time.Second}})
	if r := last(t, g); r.Cause != AtLimit {
		t.Errorf("%+v", r)
	}
}

// TestMessages sends messages, and sees that an order needs no memory.
func TestMessages(t *testing.T) {
	pair, err := sys.Socketpair()
	if err != nil {
		t.Fatal(err)
	}
	from := os.NewFile(uintptr(pair[0]), "socket")
	defer from.Close()
	rules := Rules{4, true, locks.Ticket{FD: 10, Number: 11}}
	all := Message{Kind: Signal, Deadlines: Deadlines{1, 2, never}, Rules: rules, Token: 5, Parent: 12, Group: -6,
		Number: 7, Killed: true, Forked: true, Cause: AtLimit, Survivor: 8, Errno: 9, Text: "x\ny\x00"}
	order := Message{Kind: Signal, Number: 15}
	all.send(pair[1])
	order.send(pair[1])
	var m Message
	for _, want := range []Message{all, order} {
		if ok := m.receive(from); !ok || m != want {
			t.Errorf("%v %+v, want %+v", ok, m, want)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		order.send(pair[1])
		m.receive(from)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	unix.Close(pair[1])
	if m.receive(from) {
		t.Errorf("%+v", m)
	}
}

// TestLate has a guard that is stopped when the orders come. All of them are there when it reads the first one.
func TestLate(t *testing.T) {
	past := Deadlines{1, farAway.Kill, farAway.End}
	run, move := Message{Kind: Run, Deadlines: past}, Message{Kind: Move, Deadlines: farAway}
	for name, c := range map[string]struct {
		orders []Message
		status int
		cause  Cause
		begins bool
	}{
		"renewed":     {[]Message{run, move}, 3, NoCause, true},
		"not renewed": {[]Message{run}, 0, Lost, false},
		"aborted":     {[]Message{run, move, {Kind: Abort}}, 0, Lost, false},
		"terminated":  {[]Message{run, move, {Kind: Signal, Number: int(unix.SIGTERM)}, move}, 143, NoCause, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, dir := start(t, ">$0/began; exit 3")
			unix.Kill(g.pid, unix.SIGSTOP)
			if _, err := syscall.Wait4(g.pid, nil, syscall.WUNTRACED, nil); err != nil {
				t.Fatal(err)
			}
			n := len(c.orders) - 1
			for _, m := range c.orders[:n] {
				if m.Kind == Run {
					m.Text = strings.Join(g.argv, "\x00")
				}
				m.send(g.socketFD)
			}
			g.Give(c.orders[n]) // which continues the guard
			all := reports(t, g)
			if r := all[len(all)-1]; r.Number != c.status || r.Cause != c.cause || (len(all) > 1) != c.begins {
				t.Errorf("%+v", all)
			}
			if _, err := os.Stat(dir + "/began"); err == nil && !c.begins {
				t.Error("the command was started")
			}
		})
	}
}

// TestEarlySignal sends signals before the command is to start. One that ends its parent keeps it from starting.
func TestEarlySignal(t *testing.T) {
	for sig, want := range map[unix.Signal]int{unix.SIGWINCH: 3, unix.SIGTERM: 128 + int(unix.SIGTERM)} {
		g, dir := start(t, ">$0/began; exit 3")
		g.PassOn(sig, true)
		g.Give(Message{Kind: Run, Deadlines: farAway})
		if r := last(t, g); r.Number != want || r.Killed != (want > 128) || r.Cause != NoCause {
			t.Errorf("%+v", r)
		}
		if _, err := os.Stat(dir + "/began"); (err == nil) != (want == 3) {
			t.Error("the command was started:", err == nil)
		}
	}
}

// TestOtherVersion starts a guard as a program does whose messages have another size.
func TestOtherVersion(t *testing.T) {
	pair, err := sys.Socketpair()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	end := os.NewFile(uintptr(pair[1]), "socket")
	defer end.Close()
	c := exec.Command(os.Args[0])
	c.Args, c.ExtraFiles = []string{Name, fmt.Sprint(option, sizeOfMessage+8, ",3,-1")}, []*os.File{end}
	c.Run()
	g := Guard{end: c.ProcessState.Sys().(syscall.WaitStatus)}
	if err := g.EndedEarly(); !strings.Contains(err.Error(), "replaced by another version") {
		t.Error(err)
	}
}
