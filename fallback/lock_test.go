//go:build linux

package fallback

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestConversions(t *testing.T) {
	dir := lockFile(t)
	a, b := New(dir, me("a")), New(dir, me("b"))
	x, s := Request{Mode: Exclusive}, Request{Mode: Shared}
	try := func(l *Lock, r Request, want bool) {
		t.Helper()
		err := l.TryLock(r)
		var conflict *ConflictError
		if err != nil && !errors.As(err, &conflict) {
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
	must(New(dir, me("a")).TryLock(Request{Mode: Exclusive}))
	waiter := New(dir, me("b"))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- waiter.Lock(ctx, Request{Mode: Exclusive}) }()
	for l := New(dir, me("c")); ; time.Sleep(time.Millisecond) {
		if waiters, err := l.Waiters(); err != nil {
			t.Fatal(err)
		} else if len(waiters) > 0 {
			break
		}
	}
	cancel()
	if err := <-ended; err != context.Canceled {
		t.Error(err)
	}
	if err := waiter.TryLock(Request{Mode: Shared}); err == nil {
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
	must(New(dir, me("a")).TryLock(Request{Mode: Exclusive}))
	start := time.Now()
	err := New(dir, me("b")).Lock(until(start.Add(300*time.Millisecond)), Request{Mode: Shared})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	var conflict *ConflictError
	if !errors.As(err, &conflict) || conflict.Holders[0].PID != os.Getpid() || conflict.Holders[0].Mode != Exclusive {
		t.Fatal(err)
	}
	if d := time.Since(start); d < 300*time.Millisecond {
		t.Fatal("gave up after", d)
	}
	holders, err := (&Lock{dir: dir}).Holders()
	if err != nil || len(holders) != 1 || holders[0].Tag != "a" {
		t.Fatal(holders, err)
	}
	holders, err = (&Lock{dir: dir, Gone: func(o Owner) bool { return o.Tag == "a" }}).Holders()
	if err != nil || len(holders) != 0 {
		t.Fatal(holders, err)
	}
}

func TestAnotherMachineCountsAsAlive(t *testing.T) {
	dir := lockFile(t)
	for _, change := range []func(*Owner){
		func(o *Owner) { o.Host, o.Boot = "b", "1" },
		func(o *Owner) { o.machine, o.Boot = "m", "1" },
		func(o *Owner) { o.Namespace = "1" },
	} {
		settled(t, dir)
		o := deadOwner(t)
		change(&o)
		must(New(dir, o).TryLock(Request{Mode: Shared}))
		err := New(dir, me("")).TryLock(Request{Mode: Exclusive})
		var conflict *ConflictError
		if !errors.As(err, &conflict) || !conflict.Holders[0].Unreachable {
			t.Fatal(err)
		}
		t.Log(err)
		must(os.Remove(conflict.Holders[0].File)) // as it says
	}
}

// TestEarlierBoot: after a restart the dead are dead only where it is certain that it was this machine.
func TestEarlierBoot(t *testing.T) {
	const initial = "4026531836.4026531834"
	now := Owner{Host: "h", machine: "m", Boot: "2", Namespace: initial}
	before := func(change func(here, o *Owner)) (Owner, Owner) {
		here, o := now, now
		o.PID, o.Boot = 1, "1"
		change(&here, &o)
		return here, o
	}
	if f := judge(before(func(here, o *Owner) {})); f != dead {
		t.Error("an earlier boot of the same machine:", f)
	}
	if f := judge(before(func(here, o *Owner) { o.Namespace = "4026531836.1" })); f != dead {
		t.Error("the same in another time namespace:", f)
	}
	for name, change := range map[string]func(here, o *Owner){
		"another host name":             func(here, o *Owner) { o.Host = "i" },
		"host name unknown":             func(here, o *Owner) { here.Host, o.Host = "", "" },
		"another machine":               func(here, o *Owner) { o.machine = "n" },
		"machine unknown":               func(here, o *Owner) { here.machine, o.machine = "", "" },
		"boot unknown":                  func(here, o *Owner) { o.Boot = "" },
		"it ran in a container":         func(here, o *Owner) { o.Namespace = "4026532198.4026531834" },
		"who looks is in a container":   func(here, o *Owner) { here.Namespace = "4026532198.4026531834" },
		"both are in the same one":      func(here, o *Owner) { o.Namespace, here.Namespace = "4026532198.1", "4026532198.1" },
		"nothing known of namespaces":   func(here, o *Owner) { o.Namespace, here.Namespace = "", "" },
		"a number that only looks like": func(here, o *Owner) { o.Namespace, here.Namespace = "40265318361.1", "40265318361.1" },
	} {
		if f := judge(before(change)); f != unknown {
			t.Errorf("%s: %v", name, f)
		}
	}
	link, err := os.Readlink("/proc/self/ns/pid")
	must(err)
	if !strings.HasPrefix(me("").Namespace+".", strings.Trim(link, "pid:[]")+".") {
		t.Errorf("outermost looks at the first part of %q, which should be that of %q", me("").Namespace, link)
	}
}

// TestStoppedInTheMiddle: who has the token for longer than any move takes is named as what keeps others out.
func TestStoppedInTheMiddle(t *testing.T) {
	dir := lockFile(t)
	settled(t, dir)
	busy := newRecord(kindBusy, me("").renewed()).name
	must(os.Rename(filepath.Join(dir, free), filepath.Join(dir, busy)))
	holders, err := New(dir, Owner{}).Holders()
	if err != nil || len(holders) != 1 || holders[0].Mode != Busy || holders[0].PID != os.Getpid() {
		t.Fatal(holders, err)
	}
	err = New(dir, me("")).TryLock(Request{Mode: Shared})
	if err == nil || !strings.Contains(err.Error(), "taking or releasing") {
		t.Fatal(err)
	}
	t.Log(err)

	// one that goes on within that time is no holder
	go func() {
		time.Sleep(stuck / 4)
		must(os.Rename(filepath.Join(dir, busy), filepath.Join(dir, free)))
	}()
	if holders, err := New(dir, Owner{}).Holders(); err != nil || len(holders) != 0 {
		t.Fatal(holders, err)
	}

	// nor is one that has died
	must(os.Rename(filepath.Join(dir, free), filepath.Join(dir, newRecord(kindBusy, deadOwner(t).renewed()).name)))
	start := time.Now()
	if holders, err := New(dir, Owner{}).Holders(); err != nil || len(holders) != 0 || time.Since(start) > stuck {
		t.Fatal(holders, err, time.Since(start))
	}
	settled(t, dir)
}

// TestErrorsAreOneLine: what others have written reaches no terminal as it is.
func TestErrorsAreOneLine(t *testing.T) {
	evil := "\x1b[31m\n\u009b\u202e\x9b"
	for _, err := range []error{
		&ConflictError{Holders: []Holder{{Owner: Owner{PID: 1, Host: evil}, File: evil, Unreachable: true}}},
		&dirError{"cannot lock", evil, stateError(evil)},
		stateError(evil),
	} {
		if s := err.Error(); strings.ContainsAny(s, "\x1b\n\u009b\u202e") || !utf8.ValidString(s) {
			t.Errorf("%q", s)
		}
	}
	if s := (Holder{Owner: Owner{Host: evil}}).Where(); s != "on host ?[31m????" {
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
			if len(filepath.Base(stagingDir(dir))) > maxName {
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

func TestIDRoundTrip(t *testing.T) {
	for _, o := range []Owner{
		{PID: 1},
		{PID: 1 << 30, Start: "123.456", Host: "my host,\n%\xff", Boot: "b", Namespace: "n", Tag: "fd9", machine: "m",
			Keeper: Keeper{7, "89.1"}},
		{PID: math.MaxInt32, Start: strings.Repeat("9", 20), Host: strings.Repeat("host%", 100), Tag: strings.Repeat("\n", 300),
			Boot: strings.Repeat("0", 36), Namespace: strings.Repeat("n", 22), machine: strings.Repeat("m", 13),
			Keeper: Keeper{math.MaxInt32, strings.Repeat("9", 20)}},
	} {
		o = o.canonical().renewed()
		name := newRecord(kindShared, o).name
		v, complaint := parse([]string{free, name})
		if complaint != "" || len(v.holders) != 1 || v.holders[0].owner != o || len(name) > maxName {
			t.Errorf("%q became %+v %s", name, v, complaint)
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
	dir := filepath.Join(t.TempDir(), "no", "parent")
	if err := New(dir, me("")).TryLock(Request{Mode: Shared}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := New(dir, me("")).Unlock(); err != nil {
		t.Fatal(err)
	}
	if hs, err := (&Lock{dir: dir}).Holders(); err != nil || hs != nil {
		t.Fatal(hs, err)
	}
}

func TestStateDirectoryRemovedMeanwhile(t *testing.T) {
	dir := lockFile(t)
	l := New(dir, me(""))
	must(l.TryLock(Request{Mode: Shared}))
	must(os.RemoveAll(dir))
	must(l.Unlock())
	must(l.TryLock(Request{Mode: Exclusive}))
	if list(t, dir)[0][:4] != "excl" {
		t.Fatal(list(t, dir))
	}
}

// TestRefusedUpgradeBesideABusyToken stops a process in the middle of a move: the upgrade fails and loses the shared lock.
func TestRefusedUpgradeBesideABusyToken(t *testing.T) {
	dir := lockFile(t)
	l := New(dir, me("a"))
	must(l.TryLock(Request{Mode: Shared}))
	busy := newRecord(kindBusy, me("").renewed()).name // this process, which does not go on
	must(os.Rename(filepath.Join(dir, free), filepath.Join(dir, busy)))
	if err := l.TryLock(Request{Mode: Exclusive}); err == nil {
		t.Fatal("locked beside a busy token")
	}
	must(os.Rename(filepath.Join(dir, busy), filepath.Join(dir, free)))
	must(New(dir, me("b")).TryLock(Request{Mode: Exclusive}))
}
