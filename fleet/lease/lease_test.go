//go:build unix

package lease

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/cstart"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/guard"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/output"
)

// A fakeBackend is a server of one lock, as far as a test needs it. It is also what is held.
type fakeBackend struct {
	refusal   error         // of Step
	waits     func()        // before Step returns
	ttl       time.Duration // of the lock
	renewals  error         // what Renew says
	refusals  int32         // how often it says that; 0: always
	renewed   atomic.Int32
	lostAtEnd bool
	isLate    bool // half of the TTL is over when it is had
	since     atomic.Int64
	acquired  bool
	released  atomic.Int32 // having been acquired
	end       End
	line      Line // nil: of one holder
	last      *LastRun
	link      *Link
	isMute    bool // after its first answer
	lists     atomic.Int32
}

func (f *fakeBackend) Contend(Claim) Lock { return f }

func (f *fakeBackend) Step(context.Context, bool) (Line, Life, error) {
	f.since.Store(int64(Now()))
	if f.isLate {
		f.since.Store(int64(Now() - f.ttl/2))
	}
	if f.waits != nil {
		f.waits()
		f.since.Store(int64(Now()))
	}
	f.acquired = f.refusal == nil
	return nil, f.life(), f.refusal
}

func (f *fakeBackend) Wait(context.Context, time.Duration) {}

func (f *fakeBackend) List(ctx context.Context, _ string) (Line, *LastRun, error) {
	if f.link != nil {
		f.link.TakeNote(nil)
	}
	f.lists.Add(1)
	if f.isMute {
		f.link.Reach = 50 * time.Millisecond
		_, err := Ask(ctx, f.link, silence)
		return nil, nil, err
	}
	if f.line != nil {
		return f.line, f.last, nil
	}
	since := time.Now().Unix()
	return Line{{Mode: Exclusive, Host: "web1", PID: 7, User: "ann", Since: since, Key: "k", ID: "1"}}, f.last, nil
}

func (f *fakeBackend) Break(context.Context, string) error { return nil }
func (f *fakeBackend) Token() int64                        { return 42 }
func (f *fakeBackend) Lost() <-chan struct{}               { return nil }

func (f *fakeBackend) life() Life { return Life{time.Duration(f.since.Load()), f.ttl} }

func (f *fakeBackend) Renew(context.Context) (Life, error) {
	if n := f.renewed.Add(1); f.renewals != nil && (f.refusals == 0 || n <= f.refusals) {
		return Life{}, f.renewals
	}
	f.since.Store(int64(Now()))
	return f.life(), nil
}

func (f *fakeBackend) Release(_ context.Context, end End) error {
	if f.acquired {
		f.released.Add(1)
	}
	f.end = end
	if f.lostAtEnd {
		return ErrLost
	}
	return nil
}

func runWith(f *fakeBackend, words ...string) int {
	return runBy(output.New("flock-fake"), f, words...)
}

func runBy(p *output.Printer, f *fakeBackend, words ...string) int {
	return start(p, Program{
		Backend: "fake", Texts: map[string]string{"schema": "CREATE"},
		Open: func(l *Link) (Backend, error) { f.link = l; return f, nil },
	}, append([]string{"flock-fake"}, words...))
}

// failed is the fate of a command after whose end there is no cooldown, although it was started with one.
const failed Fate = -1

func (f *fakeBackend) fate(words []string) Fate {
	if slices.Contains(words, "--cooldown") && f.end.Fate == Ended && f.end.Cools <= 0 {
		return failed
	}
	return f.end.Fate
}

// TestStatuses has a server that does as it should, and some that do not.
func TestStatuses(t *testing.T) {
	const long = time.Hour
	cstart.Setenv(locks.PermitVariable, "7") // of a lock around this one
	for _, c := range []struct {
		what     string
		f        *fakeBackend
		words    []string
		status   int
		released int32
		fate     Fate
	}{
		{"the command's", &fakeBackend{ttl: long}, []string{"name", "sh", "-c", "exit 7"}, 7, 1, Ended},
		{"by a shell", &fakeBackend{ttl: long}, []string{"name", "-c", "exit 126"}, 126, 1, Ended},
		{"killed", &fakeBackend{ttl: long}, []string{"name", "sh", "-c", "kill -9 $$"}, 137, 1, Ended},
		{"ignored options", &fakeBackend{ttl: long}, []string{"-o", "--remove", "--close", "name", "true"}, 0, 1, Ended},
		{"token", &fakeBackend{ttl: long}, []string{"name", "sh", "-c", `exit $FLOCK_TOKEN`}, 42, 1, Ended},
		{"another permit", &fakeBackend{ttl: long}, []string{"name", "sh", "-c", `exit $FLOCK_PERMIT`}, 7, 1, Ended},
		{"no number of a permit", &fakeBackend{ttl: long},
			[]string{"--permits", "2", "name", "sh", "-c", `exit ${FLOCK_PERMIT-3}`}, 3, 1, Ended},
		{"no command", &fakeBackend{ttl: long}, []string{"name", "/nonexistent"}, 69, 1, NotStarted},
		{"failed, from success", &fakeBackend{ttl: long},
			[]string{"--cooldown", "9", "--cooldown-from", "success", "name", "sh", "-c", "exit 7"}, 7, 1, failed},
		{"at its limit, from success", &fakeBackend{ttl: long},
			[]string{"--cooldown", "9", "--cooldown-from", "success", "--limit", ".1", "name",
				"sh", "-c", "trap 'exit 0' TERM; while :; do sleep .1; done"}, 124, 1, failed},
		{"done, from success", &fakeBackend{ttl: long},
			[]string{"--cooldown", "9", "--cooldown-from", "success", "name", "true"}, 0, 1, Ended},
		{"failed, from the start", &fakeBackend{ttl: long},
			[]string{"--cooldown", "9", "--cooldown-from", "start", "name", "false"}, 1, 1, Ended},
		{"taken", &fakeBackend{refusal: ErrTaken}, []string{"-n", "-E", "9", "name", "true"}, 9, 0, NotStarted},
		{"refused", &fakeBackend{refusal: &Error{Status: 66, Text: "no"}}, []string{"name", "true"}, 66, 0, NotStarted},
		{"unknown error", &fakeBackend{refusal: errors.New("no")}, []string{"name", "true"}, 71, 0, NotStarted},
		{"place lost each time", &fakeBackend{refusal: ErrLost}, []string{"-n", "name", "true"}, 75, 0, NotStarted},
		{"late", &fakeBackend{ttl: long, isLate: true}, []string{"-n", "name", "true"}, 0, 1, Ended},
		{"late and lost", &fakeBackend{ttl: long, isLate: true, renewals: ErrLost},
			[]string{"-n", "name", "true"}, 75, 3, NotStarted},
		{"late, and not renewed", &fakeBackend{ttl: long, isLate: true, renewals: Unavailable("no")},
			[]string{"name", "true"}, 75, 1, NotStarted},
		{"lost while it runs", &fakeBackend{ttl: 5 * time.Second, renewals: ErrLost},
			[]string{"name", "sleep", "60"}, 75, 1, Killed},
		// It leaves no orphan: process 1 may take its time to reap that, where the guard cannot.
		{"not renewed", &fakeBackend{ttl: 2 * time.Second, renewals: errors.New("no")},
			[]string{"name", "sh", "-c", "trap '' TERM; exec sleep 60"}, 75, 1, Killed},
		{"lost at its end", &fakeBackend{ttl: long, lostAtEnd: true}, []string{"name", "true"}, 75, 1, Ended},
		{"renewed", &fakeBackend{ttl: time.Second}, []string{"name", "sleep", "1.5"}, 0, 1, Ended},
		{"unknown option", &fakeBackend{}, []string{"--no-fork", "name", "true"}, 64, 0, NotStarted},
		{"relative name", &fakeBackend{}, []string{"a/b", "true"}, 64, 0, NotStarted},
		{"--break", &fakeBackend{}, []string{"--break", "name"}, 0, 0, NotStarted},
		{"an option of its own", &fakeBackend{}, []string{"--schema"}, 0, 0, NotStarted},
		{"--break, silence", &fakeBackend{isMute: true}, []string{"--break", "name"}, 75, 0, NotStarted},
		{"--holders, silence", &fakeBackend{isMute: true}, []string{"--holders", "name"}, 75, 0, NotStarted},
	} {
		status := runWith(c.f, c.words...)
		if status != c.status || c.f.released.Load() != c.released || c.f.fate(c.words) != c.fate {
			t.Errorf("%s: status %d, expected %d; released %d times, fate %d",
				c.what, status, c.status, c.f.released.Load(), c.f.fate(c.words))
		}
	}
}

// TestEnds: what a backend writes down of how a run has ended.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		what           string
		f              *fakeBackend
		words          []string
		status, signal int // -1: none
	}{
		{"done", &fakeBackend{}, []string{"name", "true"}, 0, -1},
		{"failed", &fakeBackend{}, []string{"name", "sh", "-c", "exit 7"}, 7, -1},
		{"a shell's status", &fakeBackend{}, []string{"name", "sh", "-c", "exit 137"}, 137, -1},
		{"killed", &fakeBackend{}, []string{"name", "sh", "-c", "kill -9 $$"}, -1, 9},
		{"at its limit", &fakeBackend{}, []string{"--limit", ".1", "name", "sleep", "60"}, 124, -1},
		{"no command", &fakeBackend{}, []string{"name", "/nonexistent"}, 69, -1},
		{"never tried", &fakeBackend{isLate: true, renewals: Unavailable("no")}, []string{"name", "true"}, -1, -1},
	} {
		c.f.ttl = time.Hour
		runWith(c.f, c.words...)
		status, signal := c.f.end.Written()
		if c.f.released.Load() != 1 || orNone(status) != c.status || orNone(signal) != c.signal {
			t.Errorf("%s: status %d, signal %d, released %d times", c.what, orNone(status), orNone(signal),
				c.f.released.Load())
		}
	}
}

func orNone(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}

// TestLastRun: --holders lists the last run after the contenders, which change by it neither in number nor in status,
// unless it has the lock. A line of its own cannot be forged by what its record says.
func TestLastRun(t *testing.T) {
	began := time.Date(2026, 11, 28, 2, 0, 0, 0, time.UTC).Unix()
	number := func(n int) *int { return &n }
	ended := began + 60
	until := "until " + clock(ended)
	for _, c := range []struct {
		last      LastRun
		isHeld    bool
		isUnknown bool
		want      string
		status    int
	}{
		{LastRun{Ended: ended, Status: number(3)}, false, false, until + ", status 3", 1},
		{LastRun{Ended: ended, Signal: number(9)}, false, false, until + ", signal 9", 1},
		{LastRun{Ended: ended}, false, false, until + ", not started", 1},
		{LastRun{}, false, false, clock(began) + ", lost", 1},
		{LastRun{}, false, true, clock(began) + ", end unknown", 75},
		{LastRun{Ended: ended, Status: number(0)}, true, false, until + ", status 0", 0},
		{LastRun{Contender: Contender{ID: "held"}}, true, false, "", 0},
		{LastRun{Contender: Contender{ID: "cools"}}, false, false, clock(began) + ", lost", 1},
	} {
		c.last.Host, c.last.PID, c.last.User, c.last.Since, c.last.Key = "web\n1", 7, "ann", began, "name/last"
		f := &fakeBackend{last: &c.last, line: Line{{Mode: Cooldown, ID: "cools", Until: began}}}
		if c.isHeld {
			f.line = append(f.line, Contender{Mode: Exclusive, ID: "held", Holds: true})
		}
		if c.isUnknown {
			f.line = append(f.line, Contender{Mode: Unknown, Why: "no"})
		}
		var out, nothing strings.Builder
		p := output.New("flock-fake")
		p.Out, p.Err = &out, &nothing
		r := &task{printer: p, backend: f, options: &cli.Options{File: "name"}}
		status := p.Status(r.list())
		rows := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		got := strings.Join(strings.Fields(rows[len(rows)-1]), " ")
		isListed := strings.HasPrefix(got, "web?1 7 last ann "+clock(began))
		if status != c.status || isListed != (c.want != "") || !strings.Contains(got, c.want) ||
			isListed && !strings.HasSuffix(got, " name/last") {
			t.Errorf("%+v: status %d, %q", c, status, out.String())
		}
	}
}

// A guard that nobody has killed has ended because the system lacks something.
func TestGuardEnded(t *testing.T) {
	r := &task{printer: output.New("flock-fake"), guard: &guard.Guard{}, name: "name"}
	if status := r.guardGone("cannot wait any longer for"); status != failure.ExOSErr {
		t.Errorf("status %d", status)
	}
}

// TestReportAgain waits for a lock until the report has been made three times.
func TestReportAgain(t *testing.T) {
	f := &fakeBackend{}
	f.link = &Link{looked: make(chan struct{}, 1)}
	o := &cli.Options{Reports: true, ReportAfter: 10 * time.Millisecond}
	r := &task{printer: output.New("flock-fake"), backend: f, link: f.link, options: o, service: newService(),
		guard: &guard.Guard{}, name: "name"}
	f.link.KeptOut(taken)
	got := make(chan struct{})
	go func() {
		for end := time.Now().Add(30 * time.Second); f.lists.Load() < 3 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		close(got)
	}()
	r.wait(got, time.Now())
	if n := f.lists.Load(); n < 3 {
		t.Errorf("%d reports", n)
	}
}

// A holder is warned of a silence that its lock has seen, not of one that is over.
func TestWhenSilent(t *testing.T) {
	for _, c := range []struct {
		age, slowness time.Duration
		silent        bool
	}{
		{0, 0, false}, {39 * time.Second, 0, false}, {40 * time.Second, 0, true},
		{50 * time.Second, 20 * time.Second, false}, {60 * time.Second, 20 * time.Second, true},
	} {
		f := &fakeBackend{ttl: 100 * time.Second}
		f.since.Store(int64(Now() - c.age))
		h := &hold{lock: f, life: f.life(), task: &task{link: &Link{}}}
		h.link.slowness.Store(int64(c.slowness))
		if silent := Now() >= h.whenSilent(); silent != c.silent {
			t.Errorf("%+v: silent %v", c, silent)
		}
	}
}

// A holder is warned at once of a refusal, and not of a renewal without an answer, which takes the reason from no loss.
func TestRefusedRenewal(t *testing.T) {
	no, silent := Denied("no\nask for it"), Unavailable("no answer")
	h := &hold{life: Life{TTL: time.Hour}, task: &task{printer: output.New("flock-fake"), link: &Link{}}}
	for _, c := range []struct {
		renewal           error
		warned, isRefused bool
	}{{silent, false, false}, {no, true, true}, {no, true, true}, {silent, true, true}} {
		h.takeNote(Life{}, c.renewal)
		if h.warned != c.warned || (h.refusal != "") != c.isRefused {
			t.Errorf("%v: warned %v, refused by %v", c.renewal, h.warned, h.refusal)
		}
	}
}

// TestSilentGuard has a guard that is silent until its time is over: nothing tells whether the command was started.
func TestSilentGuard(t *testing.T) {
	f := &fakeBackend{ttl: time.Hour, renewals: Unavailable("no")}
	f.since.Store(int64(Now() - f.ttl*89/100)) // at 90/100 this process would be killed
	g, err := guard.Start([]string{"true"})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	p := output.New("flock-fake")
	p.Err = &text
	h := &hold{lock: f, life: f.life(), task: &task{printer: p, program: Program{Lease: "its lease"}, link: &Link{}, guard: g,
		options: &cli.Options{Command: []string{"true"}}, service: newService(), name: "name"}}
	status := p.Status(h.execute())
	want := "its lease was not kept alive in time; if the command was started, it was killed\n"
	if status != failure.ExTempFail || f.end.Fate != Killed || !strings.HasSuffix(text.String(), want) {
		t.Errorf("status %d, fate %d, %q", status, f.end.Fate, text.String())
	}
}

// An unread writer takes nothing before somebody reads it.
type unread struct {
	mu     sync.Mutex
	text   string
	begins func() // the first time that something is written
	reader <-chan struct{}
}

func (u *unread) Write(text []byte) (int, error) {
	u.begins()
	<-u.reader
	u.mu.Lock()
	defer u.mu.Unlock()
	u.text += string(text)
	return len(text), nil
}

// TestUnread has lines of this program that nobody reads before the lock is released, as in a pipe that is full. They
// delay neither what it asks the server, while it waits and while the command runs, nor the command.
func TestUnread(t *testing.T) {
	for _, c := range []struct {
		what  string
		f     *fakeBackend
		waits func(f *fakeBackend, written <-chan struct{})
		words []string
		says  string
	}{
		{"a refused renewal", &fakeBackend{renewals: Denied("no"), refusals: 1}, nil,
			[]string{"name", "sh", "-c", `until [ -e "$WRITTEN" ]; do sleep .02; done`}, "not renewed"},
		{"a report", &fakeBackend{}, func(f *fakeBackend, written <-chan struct{}) {
			f.link.KeptOut(Line{{Mode: Exclusive}})
			<-written
		}, []string{"--report", "0", "name", "true"}, "waiting for name, held by"},
		{"a silent server", &fakeBackend{}, func(f *fakeBackend, written <-chan struct{}) {
			f.link.TTL = 50 * time.Millisecond
			f.link.TakeNote(nil)
			Ask(context.Background(), f.link, func(context.Context, bool) (int, error) {
				<-written
				return 0, nil
			})
		}, []string{"name", "true"}, "answers again"},
	} {
		path := filepath.Join(t.TempDir(), "written")
		cstart.Setenv("WRITTEN", path)
		c.f.ttl = 5 * time.Second
		written, reader := make(chan struct{}), make(chan struct{})
		isLate := make(chan struct{}) // but before the kernel kills this process at 9/10
		begins := sync.OnceFunc(func() {
			close(written)
			os.WriteFile(path, nil, 0o666)
			go func() {
				defer close(reader)
				for end := time.Now().Add(c.f.ttl / 2); c.f.released.Load() == 0; time.Sleep(time.Millisecond) {
					if time.Now().After(end) {
						close(isLate)
						return
					}
				}
			}()
		})
		if c.waits != nil {
			c.f.waits = func() { c.waits(c.f, written) }
		}
		u := &unread{begins: begins, reader: reader}
		p := output.New("flock-fake")
		p.Err = u
		status := p.Status(runBy(p, c.f, c.words...))
		select {
		case <-isLate:
			t.Errorf("%s: it waits for a reader", c.what)
		default:
		}
		u.mu.Lock() // Status has waited for it, of which the race detector does not know
		text := u.text
		u.mu.Unlock()
		if status != 0 || !strings.Contains(text, c.says) {
			t.Errorf("%s: status %d, %q", c.what, status, text)
		}
	}
}

// TestFrozenSystemd has a systemd that takes no messages while a lock is held: it is renewed all the same.
func TestFrozenSystemd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	full, err := net.Dial("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for err == nil {
		full.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
		_, err = full.Write([]byte("X=1"))
	}
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "9000000")
	status := make(chan int, 1)
	go func() { status <- runWith(&fakeBackend{ttl: 2 * time.Second}, "name", "sleep", "3") }()
	select {
	case got := <-status:
		if got != 0 {
			t.Errorf("status %d", got)
		}
	case <-time.After(time.Minute):
		t.Error("it waits for systemd")
	}
}

// TestUnaskedWatchdog: systemd is told that a lock was renewed only if it wants to know.
func TestUnaskedWatchdog(t *testing.T) {
	for _, usec := range []string{"", "60000000"} {
		path := filepath.Join(t.TempDir(), "notify")
		socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path})
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
		t.Setenv("NOTIFY_SOCKET", path)
		t.Setenv("WATCHDOG_USEC", usec)
		f := &fakeBackend{ttl: time.Hour}
		f.since.Store(int64(Now()))
		g, err := guard.Start([]string{"true"})
		if err != nil {
			t.Fatal(err)
		}
		h := &hold{lock: f, life: f.life(), task: &task{link: &Link{}, guard: g, service: newService()}}
		h.takeNote(f.life(), nil)
		h.service.say("LAST=1")
		g.Close()
		b := make([]byte, 100)
		n, _ := socket.Read(b)
		if isTold := string(b[:n]) == "WATCHDOG=1"; isTold != (usec != "") {
			t.Errorf("WATCHDOG_USEC=%s: %q", usec, b[:n])
		}
	}
}

// TestDroppedAtEnd has the server drop the lock, and then the command end by itself before the guard kills it: it did
// not have the lock, although the server, asked more than once, does not say so any more.
func TestDroppedAtEnd(t *testing.T) {
	g, err := guard.Start([]string{"true"})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	p := output.New("flock-fake")
	p.Err = &text
	h := &hold{lock: &fakeBackend{}, life: Life{TTL: time.Hour}, hasRun: true, task: &task{printer: p, link: &Link{}, guard: g,
		program: Program{Server: "it", Place: "its key"}, options: &cli.Options{}, name: "name"}}
	h.takeNote(Life{}, ErrLost)
	status := h.end(guard.Message{Kind: guard.Ended})
	g.KillAll()
	const want = "lost the lock name: it has dropped its key while the command ran; the command has ended\n"
	if status != failure.ExTempFail || !strings.HasSuffix(text.String(), want) {
		t.Errorf("status %d, %q", status, text.String())
	}
}
