//go:build linux

package fallback

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"example.org/flock/internal/openfile"
)

func TestConversions(t *testing.T) {
	dir := lockFile(t)
	a, b := newLock(dir), newLock(dir)
	x, s := Request{Mode: Exclusive}, Request{Mode: Shared}
	try := func(l *Lock, r Request, want bool) {
		t.Helper()
		err := l.try(r)
		if err != nil && !errors.Is(err, ErrLocked) {
			t.Fatal(err)
		}
		if (err == nil) != want {
			t.Fatalf("TryLock %v: %v", r.Mode, err)
		}
	}
	try(a, x, true)
	try(a, x, true)
	try(b, s, false)
	try(a, s, true)
	try(b, s, true)
	try(a, x, false) // and loses the shared one
	try(b, x, true)
	try(a, s, false)
	must(b.Unlock())
	must(b.Unlock())
	try(a, Request{Mode: Permit, Permits: 1}, true)
	try(b, Request{Mode: Permit, Permits: 1}, false)
	try(b, Request{Mode: Permit, Permits: 2}, true)
	try(b, x, false)
	try(a, x, true)
	must(a.Unlock())
	settled(t, dir)
}

// TestCancel cancels a Lock that waits.
func TestCancel(t *testing.T) {
	dir := lockFile(t)
	must(newLock(dir).TryLock())
	waiter := newLock(dir)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- waiter.Lock(ctx) }()
	for l := newLock(dir); ; time.Sleep(time.Millisecond) {
		holders, err := l.Holders()
		must(err)
		if slices.ContainsFunc(holders, func(h Holder) bool { return h.Waiting }) {
			break
		}
	}
	cancel()
	if err := <-ended; err != context.Canceled {
		t.Error(err)
	}
	if err := waiter.TryRLock(); err == nil {
		t.Error("two inside")
	}
}

// until returns a context with a deadline.
func until(deadline time.Time) context.Context {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	time.AfterFunc(time.Until(deadline)+time.Second, cancel)
	return ctx
}

func TestDeadline(t *testing.T) {
	dir := lockFile(t)
	must(newLock(dir).TryLock())
	start := time.Now()
	err := newLock(dir).RLock(until(start.Add(300 * time.Millisecond)))
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
	var conflict *LockedError
	if !errors.As(err, &conflict) || conflict.Holders[0].PID != os.Getpid() || conflict.Holders[0].Mode != Exclusive {
		t.Fatal(err)
	}
	if d := time.Since(start); d < 300*time.Millisecond {
		t.Fatal("gave up after", d)
	}
	holders, err := newLock(dir).Holders()
	if err != nil || len(holders) != 1 || holders[0].PID != os.Getpid() {
		t.Fatal(holders, err)
	}
}

// TestZero: a Lock that was not made by Open is an error.
func TestZero(t *testing.T) {
	var l Lock
	if l.TryLock() == nil || l.Lock(context.Background()) == nil || l.Unlock() == nil {
		t.Error("no error")
	}
	if _, err := l.Holders(); err == nil {
		t.Error("no error")
	}
}

func TestAnotherMachineCountsAsAlive(t *testing.T) {
	dir := lockFile(t)
	for _, change := range []func(*owner){
		func(o *owner) { o.host, o.boot = "b", "1" },
		func(o *owner) { o.id, o.boot = "m", "1" },
		func(o *owner) { o.namespace = "1" },
	} {
		settled(t, dir)
		o := deadOwner(t)
		change(&o)
		must((&Lock{dir: dir, owner: o, file: openFile{fd: -1}}).TryRLock())
		err := newLock(dir).TryLock()
		var conflict *LockedError
		if !errors.As(err, &conflict) || !conflict.Holders[0].Unreachable {
			t.Fatal(err)
		}
		t.Log(err)
		must(os.Remove(conflict.Holders[0].Path)) // as it says
	}
}

// TestYieldEnds: a waiter of another machine that came first goes first, but not for ever.
func TestYieldEnds(t *testing.T) {
	dir := lockFile(t)
	holder := newLock(dir)
	must(holder.TryLock())
	state, err := openState(dir, false)
	must(err)
	defer state.close()
	o := deadOwner(t)
	o.host, o.boot = "b", "1"
	other := &line{state: state}
	other.join(o, Exclusive)
	defer other.leave()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error)
	l := newLock(dir)
	l.ofSelf = true
	go func() { done <- l.Lock(ctx) }()
	for waiters := 0; waiters < 2; {
		names, err := state.List()
		must(err)
		s, _ := parse(names)
		waiters = len(s.waiters)
		runtime.Gosched()
	}
	must(holder.Unlock())
	started := time.Now()
	if err, waited := <-done, time.Since(started); err != nil || waited > 5*longestYield {
		t.Error("after ", waited, ": ", err)
	}
}

// TestEarlierBoot: after a restart the dead are dead only where it is certain that it was this machine.
func TestEarlierBoot(t *testing.T) {
	now := machine{host: "h", id: "m", boot: "2", namespace: "4026531836.4026531834"}
	before := func(change func(here, m *machine)) fate {
		here, m := now, now
		m.boot = "1"
		change(&here, &m)
		return here.reach(m)
	}
	if f := before(func(here, m *machine) {}); f != dead {
		t.Error("an earlier boot of the same machine:", f)
	}
	if f := before(func(here, m *machine) { m.namespace = "4026531836.1" }); f != dead {
		t.Error("the same in another time namespace:", f)
	}
	for name, change := range map[string]func(here, m *machine){
		"another host name":             func(here, m *machine) { m.host = "i" },
		"host name unknown":             func(here, m *machine) { here.host, m.host = "", "" },
		"another machine":               func(here, m *machine) { m.id = "n" },
		"machine unknown":               func(here, m *machine) { here.id, m.id = "", "" },
		"boot unknown":                  func(here, m *machine) { m.boot = "" },
		"it ran in a container":         func(here, m *machine) { m.namespace = "4026532198.4026531834" },
		"who looks is in a container":   func(here, m *machine) { here.namespace = "4026532198.4026531834" },
		"both are in the same one":      func(here, m *machine) { m.namespace, here.namespace = "4026532198.1", "4026532198.1" },
		"nothing known of namespaces":   func(here, m *machine) { m.namespace, here.namespace = "", "" },
		"a number that only looks like": func(here, m *machine) { m.namespace, here.namespace = "40265318361.1", "40265318361.1" },
	} {
		if f := before(change); f != unknown {
			t.Errorf("%s: %v", name, f)
		}
	}
	link, err := os.Readlink("/proc/self/ns/pid")
	must(err)
	if !strings.HasPrefix(here().namespace+".", strings.Trim(link, "pid:[]")+".") {
		t.Errorf("isOutermost looks at the first part of %q, which should be that of %q", here().namespace, link)
	}
}

// TestStoppedInTheMiddle: who has the token for longer than any move takes is named as what keeps others out.
func TestStoppedInTheMiddle(t *testing.T) {
	dir := lockFile(t)
	settled(t, dir)
	busyName := newRecord(busy, me().renewed()).name
	must(os.Rename(filepath.Join(dir, free), filepath.Join(dir, busyName)))
	holders, err := newLock(dir).Holders()
	if err != nil || len(holders) != 1 || holders[0].Mode != Busy || holders[0].PID != os.Getpid() {
		t.Fatal(holders, err)
	}
	err = newLock(dir).TryRLock()
	if err == nil || !strings.Contains(err.Error(), "taking or releasing") {
		t.Fatal(err)
	}
	t.Log(err)

	// one that goes on within that time is no holder
	go func() {
		time.Sleep(stuck / 4)
		must(os.Rename(filepath.Join(dir, busyName), filepath.Join(dir, free)))
	}()
	if holders, err := newLock(dir).Holders(); err != nil || len(holders) != 0 {
		t.Fatal(holders, err)
	}

	// nor is one that has died
	must(os.Rename(filepath.Join(dir, free), filepath.Join(dir, newRecord(busy, deadOwner(t).renewed()).name)))
	start := time.Now()
	if holders, err := newLock(dir).Holders(); err != nil || len(holders) != 0 || time.Since(start) > stuck {
		t.Fatal(holders, err, time.Since(start))
	}
	settled(t, dir)
}

// TestErrorsAreOneLine: what others have written reaches no terminal as it is.
func TestErrorsAreOneLine(t *testing.T) {
	evil := "\x1b[31m\n\u009b\u202e\x9b"
	for _, err := range []error{
		&LockedError{Holders: []Holder{{PID: 1, Host: evil, Path: evil, Unreachable: true}}},
		&stateDirError{"cannot lock", evil, stateError(evil)},
		stateError(evil),
	} {
		if s := err.Error(); strings.ContainsAny(s, "\x1b\n\u009b\u202e") || !utf8.ValidString(s) {
			t.Errorf("%q", s)
		}
	}
	if s := (Holder{Host: evil}).Where(); s != "on host ?[31m????" {
		t.Errorf("%q", s)
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"a b", "a\nb", "\xff\xfe", strings.Repeat("x", 255), strings.Repeat("ü", 127), "-n", "%41", "a,b"} {
		file := filepath.Join(t.TempDir(), name)
		must(os.WriteFile(file, nil, 0666))
		for _, base := range []string{"", t.TempDir()} {
			dir, err := StateDir(file, base)
			must(err)
			if len(filepath.Base(stagingName(dir))) > maxName {
				t.Fatalf("too long: %q", dir)
			}
			settled(t, dir)
		}
	}
}

func TestNamesOfDifferentFilesDiffer(t *testing.T) {
	d := t.TempDir()
	seen := map[string]string{}
	long := strings.Repeat("x", 254)
	for _, name := range []string{"a", "A", "d+b", "d/b", "d%2Bb", "a b", long + "1", long + "2"} {
		file := filepath.Join(d, name)
		must(os.MkdirAll(filepath.Dir(file), 0777))
		must(os.WriteFile(file, nil, 0666))
		dir, err := StateDir(file, d)
		must(err)
		if seen[dir] != "" {
			t.Fatalf("%q and %q share %q", name, seen[dir], dir)
		}
		seen[dir] = name
	}
}

func TestRelativeBase(t *testing.T) {
	t.Chdir(t.TempDir())
	must(os.WriteFile("f", nil, 0666))
	if dir, err := StateDir("f", "."); err == nil {
		t.Fatalf("%q is another place for each working directory", dir)
	}
}

func TestNamesOfRecords(t *testing.T) {
	for _, o := range []owner{
		{pid: 1, number: -1, nonce: "x"},
		{pid: 7, number: 9, mark: openfile.NonBlock, file: "f", nonce: "x"},
		{pid: 7, number: 0, nonce: "x"},
		{pid: 1 << 30, start: "123.456", machine: machine{host: "my host,\n%\xff", id: "m", boot: "b", namespace: "n"}, nonce: "x"},
		{pid: math.MaxInt32, start: strings.Repeat("9", 20), machine: machine{host: strings.Repeat("h", 64),
			id: strings.Repeat("m", 13), boot: strings.Repeat("0", 36), namespace: strings.Repeat("n", 22)},
			number: math.MaxInt32, mark: openfile.NoAtime, file: strings.Repeat("f", 13), nonce: strings.Repeat("z", 13)},
	} {
		name := newRecord(shared, o).name
		s, complaint := parse([]string{free, name})
		if complaint != "" || len(s.holders) != 1 || s.holders[0].owner != o || len(name) > maxName {
			t.Errorf("%q became %+v %s", name, s, complaint)
		}
	}
	long := owner{pid: 1, machine: machine{host: strings.Repeat("host%", 100)}, number: -1, nonce: "x"}
	if name := newRecord(shared, long).name; len(name) > maxName || !strings.Contains(name, "~") {
		t.Errorf("%q", name)
	}
	good := newRecord(shared, owner{pid: 1, number: 9, mark: openfile.NoAtime, file: "f", nonce: "x"}).name
	for _, bad := range []string{",9b,", ",a,", ",09a,", ",-1,", ",9aa,", ",4294967296a,"} {
		if _, complaint := parse([]string{free, strings.Replace(good, ",9a,", bad, 1)}); complaint == "" {
			t.Errorf("understood: %s", bad)
		}
	}
}

func TestMissingFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none")
	before, err := StateDir(file, "")
	must(err)
	must(os.WriteFile(file, nil, 0666))
	if after, err := StateDir(file, ""); err != nil || after != before {
		t.Fatalf("%q before the file is there, then %q, %v", before, after, err)
	}
	must(os.Remove(file))
	must(os.Symlink("nothing", file))
	for _, path := range []string{file, filepath.Join(file, "f")} {
		if _, err := StateDir(path, ""); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(path, err)
		}
	}
	l := newLock(filepath.Join(t.TempDir(), "no", "parent"))
	if err := l.TryRLock(); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if hs, err := l.Holders(); err != nil || hs != nil {
		t.Fatal(hs, err)
	}
}

// TestNoPlaceForTheState: where no directory can be made, or it is gone each time, there is an error and no endless loop.
func TestNoPlaceForTheState(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	for _, c := range []struct{ file, stateIn string }{{"/proc/version", ""}, {file, "/proc"}, {file, filepath.Join(t.TempDir(), "none")}} {
		dir, err := StateDir(c.file, c.stateIn)
		if err == nil {
			err = newLock(dir).Lock(until(time.Now().Add(10 * time.Second)))
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", c, err)
		}
	}
}

// TestStateRemovedMeanwhile removes what is made for the state as fast as it can.
func TestStateRemovedMeanwhile(t *testing.T) {
	for _, around := range []bool{false, true} {
		t.Run(map[bool]string{false: "the staging directory", true: "the directory around it"}[around], func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			state := filepath.Join(dir, ".f.flock")
			victim := stagingName(state)
			if around {
				victim = dir
			}
			ctx, cancel := context.WithCancel(context.Background())
			var group sync.WaitGroup
			group.Go(func() {
				for ctx.Err() == nil {
					os.RemoveAll(victim)
				}
			})
			failures := 0
			for range 50 {
				os.MkdirAll(dir, 0o777) // which fails if it is removed meanwhile
				err := newLock(state).Lock(until(time.Now().Add(10 * time.Second)))
				if err != nil {
					failures++
				}
				if err != nil && !isGone(err) && !strings.Contains(err.Error(), "token is missing") {
					t.Error(err)
				}
				os.RemoveAll(state)
			}
			cancel()
			group.Wait()
			t.Logf("%d of 50 attempts failed", failures)
		})
	}
}

func TestStateDirectoryRemovedMeanwhile(t *testing.T) {
	dir := lockFile(t)
	l := newLock(dir)
	must(l.TryRLock())
	must(os.RemoveAll(dir))
	must(l.Unlock())
	must(l.TryLock())
	if list(t, dir)[0][:4] != excl {
		t.Fatal(list(t, dir))
	}
}

// TestRefusedUpgradeBesideABusyToken stops a process in the middle of a move: the upgrade fails and loses the shared lock.
func TestRefusedUpgradeBesideABusyToken(t *testing.T) {
	dir := lockFile(t)
	l := newLock(dir)
	must(l.TryRLock())
	busyName := newRecord(busy, me().renewed()).name // this process, which does not go on
	must(os.Rename(filepath.Join(dir, free), filepath.Join(dir, busyName)))
	if err := l.TryLock(); err == nil {
		t.Fatal("locked beside a busy token")
	}
	must(os.Rename(filepath.Join(dir, busyName), filepath.Join(dir, free)))
	must(newLock(dir).TryLock())
}

// TestDoubtDoesNotSpin asserts that a waiter pauses while a search is not certain, however long that has lasted.
func TestDoubtDoesNotSpin(t *testing.T) {
	now := time.Now()
	for _, lasted := range []time.Duration{0, 2 * stuck, doubtful - stuck} {
		c := &call{system: thisSystem{fd: -1}, inDoubt: true, since: now.Add(-lasted)}
		w := &waiting{call: c, ctx: context.Background(), started: now.Add(-doubtful)}
		if d, _ := w.next(watched{longest: fullLook}, now, now, true, false); d != doubtPause {
			t.Errorf("after %v in doubt it looks again after %v", lasted, d)
		}
	}
}

// A passage is a pauser between whose pauses time passes and the token goes from hand to hand.
type passage struct {
	thisSystem
	now    time.Time
	pass   func()
	passed []bool // whether what kept us out was said to be passing
}

func (p *passage) Now() time.Time { return p.now }
func (p *passage) done()          {}

func (p *passage) pause(_ []record, passing bool) error {
	p.passed = append(p.passed, passing)
	p.now = p.now.Add(stuck * 6 / 10)
	p.pass()
	return nil
}

// TestPassing asserts that those who take and release the lock one after the other are never taken for one that does so for
// a second and is named to the user; that such a one is; and that who does not wait gives up after a second of that.
func TestPassing(t *testing.T) {
	const pauses = 8
	for _, row := range []struct {
		each int // how many pauses one has the token
		try  bool
		want []bool
	}{
		{1, false, slices.Repeat([]bool{true}, pauses)},
		{2, false, slices.Repeat([]bool{true}, pauses)},
		{pauses, false, []bool{true, true, false, false, false, false, false, false}},
		{1, true, []bool{true, true}},
	} {
		dir := lockFile(t)
		settled(t, dir)
		l := newLock(dir)
		c, err := l.begin(Request{Mode: Exclusive, Try: row.try}, false)
		must(err)
		defer c.state.close()
		token := free
		give := func(name string) {
			must(os.Rename(filepath.Join(dir, token), filepath.Join(dir, name)))
			token = name
		}
		p := &passage{thisSystem: thisSystem{fd: -1}, now: time.Now()}
		p.pass = func() {
			switch n := len(p.passed); {
			case n == pauses:
				give(free)
			case n%row.each == 0:
				give(newRecord(busy, me().renewed()).name)
			}
		}
		c.system = p
		give(newRecord(busy, me().renewed()).name)
		blockers, err := c.acquire(p)
		must(err)
		if (blockers != nil) != row.try || !slices.Equal(p.passed, row.want) {
			t.Errorf("%+v: %v, %v", row, blockers, p.passed)
		}
	}
}
