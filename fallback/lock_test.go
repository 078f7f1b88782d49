package fallback

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.org/flock/fallback/openfile"
)

func TestConversions(t *testing.T) {
	dir := lockFile(t)
	a, b := newLock(dir), newLock(dir)
	x, s := Request{Mode: Exclusive, Try: true}, Request{Mode: Shared, Try: true}
	p1, p2 := Request{Mode: Permit, Permits: 1, Try: true}, Request{Mode: Permit, Permits: 2, Try: true}
	try := func(l *Lock, r Request, want bool) {
		t.Helper()
		err := l.Acquire(context.Background(), r)
		if err != nil && !isLocked(err) {
			t.Fatal(err)
		}
		if (err == nil) != want {
			t.Fatalf("%v: %v", r.Mode, err)
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
	try(a, p1, true)
	try(b, p1, false)
	try(b, p2, true)
	try(b, x, false)
	try(a, x, true)
	must(a.Unlock())
	settled(t, dir)
}

// awaitWaiter returns when somebody waits for the lock.
func awaitWaiter(dir string) { awaitWaiters(dir, 1) }

func awaitWaiters(dir string, n int) {
	for l, waiting := newLock(dir), 0; waiting < n; time.Sleep(time.Millisecond) {
		holders, err := l.Contenders()
		must(err)
		waiting = 0
		for _, h := range holders {
			if h.Waiting {
				waiting++
			}
		}
	}
}

// TestCancel cancels a Lock that waits.
func TestCancel(t *testing.T) {
	dir := lockFile(t)
	must(newLock(dir).TryLock())
	waiter := newLock(dir)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- waiter.Lock(ctx) }()
	awaitWaiter(dir)
	cancel()
	if err := <-ended; err != context.Canceled {
		t.Error(err)
	}
	if err := waiter.TryRLock(); err == nil {
		t.Error("two inside")
	}
}

func TestDeadline(t *testing.T) {
	dir := lockFile(t)
	must(newLock(dir).TryLock())
	start := time.Now()
	ctx, cancel := context.WithDeadline(context.Background(), start.Add(300*time.Millisecond))
	defer cancel()
	err := newLock(dir).RLock(ctx)
	if !isLocked(err) {
		t.Error(err)
	}
	var conflict *LockedError
	if !errors.As(err, &conflict) || conflict.Holders[0].PID != os.Getpid() || conflict.Holders[0].Mode != Exclusive {
		t.Fatal(err)
	}
	if d := time.Since(start); d < 300*time.Millisecond {
		t.Fatal("gave up after", d)
	}
	later, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	err = newLock(dir).Acquire(later, Request{Mode: Shared, Try: true})
	if !isLocked(err) {
		t.Error("refused at once, an hour before the deadline: ", err)
	}
	holders, err := newLock(dir).Contenders()
	if err != nil || len(holders) != 1 || holders[0].PID != os.Getpid() {
		t.Fatal(holders, err)
	}
}

// An endedContext has ended by its deadline, which is in an hour by a clock that was set back since.
type endedContext struct{ context.Context }

func (endedContext) Deadline() (time.Time, bool) { return time.Now().Add(time.Hour), true }
func (endedContext) Err() error                  { return context.DeadlineExceeded }

// TestDeadlineAndClock: a deadline whose context has ended is over.
func TestDeadlineAndClock(t *testing.T) {
	dir := lockFile(t)
	holder := newLock(dir)
	must(holder.TryLock())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	ended := make(chan error)
	go func() { ended <- newLock(dir).Lock(endedContext{ctx}) }()
	select {
	case err := <-ended:
		if !isLocked(err) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it still waits")
		must(holder.Unlock())
		<-ended
	}
}

// A passing context's deadline passes when it has been asked once.
type passing struct {
	context.Context
	asked *bool
}

func (passing) Deadline() (time.Time, bool) { return time.Now().Add(time.Millisecond), true }

func (p passing) Err() error {
	if !*p.asked {
		*p.asked = true
		return nil
	}
	return context.DeadlineExceeded
}

// TestDeadlinePasses: a deadline that passes while a lock is taken is no cancellation.
func TestDeadlinePasses(t *testing.T) {
	l := newLock(lockFile(t))
	if err := l.Lock(passing{context.Background(), new(bool)}); err != nil {
		t.Error("a free lock:", err)
	}
	if err := newLock(l.dir).Lock(passing{context.Background(), new(bool)}); !isLocked(err) {
		t.Error("a lock that is held:", err)
	}
	must(l.Unlock())
}

// TestZero: a Lock that was not made by Open is an error.
func TestZero(t *testing.T) {
	var l Lock
	if l.TryLock() == nil || l.Lock(context.Background()) == nil || l.Unlock() == nil {
		t.Error("no error")
	}
	if _, err := l.Contenders(); err == nil {
		t.Error("no error")
	}
}

// TestRelation: who is dead, and who can be asked, is known only where it is certain.
func TestRelation(t *testing.T) {
	now := machine{user{"0", "0", initialUsers}, "h", "m", "2", pidNamespace{initialPIDs, "1"}, "0"}
	for name, c := range map[string]struct {
		change func(here, o *machine)
		want   relation
	}{
		"the same":                     {func(here, o *machine) {}, askable},
		"another pid namespace":        {func(here, o *machine) { o.pidNS.number = "1" }, askable},
		"an old record":                {func(here, o *machine) { o.device = "+0" }, askable},
		"an old record, another mount": {func(here, o *machine) { o.device = "+1" }, otherMount},
		"another mount":                {func(here, o *machine) { here.device, o.device = "1", "2" }, otherMount},
		"no boot id":                   {func(here, o *machine) { here.boot = "" }, askable},
		"no boot id, in a chroot":      {func(here, o *machine) { here.boot, here.id = "", "" }, otherMachine},
		"no boot id, it in a chroot":   {func(here, o *machine) { here.boot, o.id = "", "" }, otherMachine},
		"neither id, as on illumos":    {func(here, o *machine) { *here = machine{host: "h"}; *o = *here }, askable},
		"no boot id, no name":          {func(here, o *machine) { *here = machine{id: "m"}; *o = *here }, askable},
		"no boot id, it has no name":   {func(here, o *machine) { here.boot, o.host = "", "" }, otherMachine},
		"no boot id, one has a name":   {func(here, o *machine) { here.boot, here.host = "", "" }, otherMachine},
		"no name, another machine": {func(here, o *machine) { *here, *o = machine{id: "m"}, machine{id: "n"} },
			otherMachine},
		"no name, no id":                {func(here, o *machine) { *here = machine{}; *o = *here }, otherMachine},
		"no boot id, unmounted":         {func(here, o *machine) { here.boot, o.device = "", "+fffff" }, otherMount},
		"no boot id, another host":      {func(here, o *machine) { here.boot, here.host = "", "i" }, otherMachine},
		"an earlier boot":               {func(here, o *machine) { o.boot = "1" }, pastBoot},
		"another boot, another host":    {func(here, o *machine) { o.boot, o.host = "1", "i" }, otherMachine},
		"another boot, host unknown":    {func(here, o *machine) { o.boot, here.host, o.host = "1", "", "" }, otherMachine},
		"another boot, another machine": {func(here, o *machine) { o.boot, o.id = "1", "n" }, otherMachine},
		"another boot, machine unknown": {func(here, o *machine) { o.boot, here.id, o.id = "1", "", "" }, otherMachine},
		"it ran in a container": {func(here, o *machine) { o.boot, o.pidNS.number = "1", "4026532198" },
			otherMachine},
		"who looks is in a container": {func(here, o *machine) { o.boot, here.pidNS.number = "1", "4026532198" },
			otherMachine},
		"namespaces unknown": {func(here, o *machine) {
			o.boot, here.pidNS, o.pidNS = "1", pidNamespace{}, pidNamespace{}
		}, otherMachine},
	} {
		mine, other := now, now
		c.change(&mine, &other)
		if got := mine.relation(other); got != c.want {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
}

// TestNamespaces: the number of a pid namespace comes again, and what is not known matches nothing.
func TestNamespaces(t *testing.T) {
	for _, c := range []struct {
		a, b            pidNamespace
		is, sharesClock bool
	}{
		{pidNamespace{initialPIDs, "1"}, pidNamespace{initialPIDs, "1"}, true, true},
		{pidNamespace{initialPIDs, "1"}, pidNamespace{initialPIDs, "2"}, true, false}, // in another time namespace
		{pidNamespace{initialPIDs, ""}, pidNamespace{initialPIDs, ""}, true, false},
		{pidNamespace{"7", "1"}, pidNamespace{"7", "1"}, true, true},
		{pidNamespace{"7", "1"}, pidNamespace{"7", "2"}, false, false},
		{pidNamespace{"7", ""}, pidNamespace{"7", ""}, false, false},
		{pidNamespace{"", "1"}, pidNamespace{"", "1"}, false, false},
	} {
		if is, shares := c.a.is(c.b), c.a.sharesClock(c.b); is != c.is || shares != c.sharesClock {
			t.Errorf("%v and %v: %v, %v", c.a, c.b, is, shares)
		}
	}
}

// TestAnotherMachineCountsAsAlive, and the error says what to remove.
func TestAnotherMachineCountsAsAlive(t *testing.T) {
	dir := lockFile(t)
	settled(t, dir)
	other := owner{"1", 7, 0, "x", machine{host: "b", id: "m", boot: "1", device: "2"}}
	must(os.WriteFile(filepath.Join(dir, recordName(Shared, other.String(), 0, nil)), nil, 0o666))
	err := newLock(dir).TryLock()
	var conflict *LockedError
	if !errors.As(err, &conflict) || !conflict.Holders[0].Unreachable || conflict.Holders[0].PID != 7 {
		t.Fatal(err)
	}
	must(newLock(dir).TryRLock())
	must(os.Remove(conflict.Holders[0].Path))
}

// TestIdentity: what a system tells of every machine alike is no identity.
func TestIdentity(t *testing.T) {
	const uuid = "4c4c4544-0000-2010-8020-80c04f202020"
	for told, want := range map[string]string{
		uuid:                                   uuid,
		"":                                     "",
		"00000000-0000-0000-0000-000000000000": "",
		"00000000000000000000000000000000":     "",
		"ffffffff-ffff-ffff-ffff-ffffffffffff": "",
	} {
		if got := identity(told); got != want {
			t.Errorf("%q: %q", told, got)
		}
	}
}

// TestAnonymousMachine: where no process can know that it is on the machine of a record, the error says why, and what
// to remove.
func TestAnonymousMachine(t *testing.T) {
	dir := lockFile(t)
	settled(t, dir)
	name := recordName(Exclusive, owner{"1", 7, 0, "x", machine{}}.String(), 0, nil)
	must(os.WriteFile(filepath.Join(dir, name), nil, 0o666))
	want := "held by process 7 on a machine that has neither a host name nor an id (if that process and all that it " +
		"has started are gone, remove " + dir + "/" + name + ")"
	if err := newLock(dir).TryLock(); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// TestEscape: what escape has written is only of safe characters, and can be read.
func TestEscape(t *testing.T) {
	for s, want := range map[string]string{
		"/a b%\xff": "%2Fa%20b%25%FF", "": "", "aZ09._-~": "aZ09._-~", "+,@\n": "%2B%2C%40%0A", "ü": "%C3%BC",
	} {
		got := escape(s)
		if again, err := url.PathUnescape(got); got != want || again != s || err != nil {
			t.Errorf("%q became %q, and that %q: %v", s, got, again, err)
		}
	}
}

// TestErrorsAreOneLine: what others have written reaches no terminal as it is.
func TestErrorsAreOneLine(t *testing.T) {
	evil := "\x1b[31m\n\u009b\u202e\x9b"
	for _, err := range []error{
		&LockedError{Holders: []Contender{{PID: 1, Where: evil, Path: evil, Unreachable: true}}},
		&stateDirError{"cannot lock", evil, stateError(evil)},
		stateError(evil),
	} {
		if s := err.Error(); strings.ContainsAny(s, "\x1b\n\u009b\u202e") || !utf8.ValidString(s) {
			t.Errorf("%q", s)
		}
	}
}

func TestNamesOfRecords(t *testing.T) {
	const centuries = 1 << 40 // in clock ticks: time namespaces move the start of a process by one at most
	const maxPID = 1 << 22    // on Linux (PID_MAX_LIMIT, include/linux/threads.h), which has the locks of open files
	digits, thirteen := strings.Repeat("9", 10), strings.Repeat("x", 13)
	long := machine{user{digits, digits, digits}, strings.Repeat("h", maxHost), thirteen, thirteen,
		pidNamespace{digits, strconv.FormatUint(centuries, 36)}, "+ffffffff"}
	files := []*openfile.File{nil,
		{Location: openfile.Location{PID: maxPID, Start: centuries, Number: math.MaxInt32},
			FileID: openfile.FileID{Device: math.MaxUint32, Inode: math.MaxUint64},
			Mark:   openfile.NoAtime, Signal: lastSignal, LockerStart: centuries - 1}}
	for _, m := range []machine{{}, {host: escape("my host,\n%\xff")}, long} {
		for _, f := range files {
			for permit, mode := range map[int]Mode{0: Shared, 1: Permit, math.MaxInt32: Permit} {
				id := newID(maxPID, centuries, time.Now(), m)
				name := recordName(mode, id, permit, f)
				s, err := parse([]string{free, name})
				if err != nil || len(s.holders) != 1 || s.holders[0].id != id || len(name) > maxName {
					t.Errorf("%q (%d bytes) became %+v, %v", name, len(name), s, err)
					continue
				}
				r := s.holders[0]
				if again := recordName(r.mode, r.owner.String(), r.permit, r.file); again != name || r.permit != permit {
					t.Errorf("%q became %q", name, again)
				}
			}
		}
	}
	id := newID(1, 0, time.Now(), machine{})
	good := recordName(Shared, id, 0, files[1])
	for _, bad := range []string{"x", good + ".1.1", strings.Replace(good, ".a.", ".ab.", 1),
		strings.Replace(good, "@", "@-", 1), strings.Replace(good, ",1,", ",-1,", 1),
		strings.Replace(good, ",..,", ",,", 1), "permit," + id, "permit," + id + "@0", "permit," + id + "@01"} {
		if !strings.HasPrefix(bad, permitName) {
			bad = "shared," + strings.TrimPrefix(bad, "shared,")
		}
		if _, err := parse([]string{free, bad}); err == nil {
			t.Errorf("understood: %s", bad)
		}
	}
}

// TestNamesOfOtherVersions: a holder or a busy token of another version refuses the lock, and the error has its name and
// the version that this program reads. Its waiters keep nobody out.
func TestNamesOfOtherVersions(t *testing.T) {
	const rest = "000629f1b3a4c,7,x.1,0.0.u,h,m,b,4026531836.1,+d"
	if _, err := parse([]string{free, "wait,v2," + rest + "@excl", "new,v2," + rest}); err != nil {
		t.Errorf("a waiter: %v", err)
	}
	for _, name := range []string{"excl,v2," + rest, "busy,v2," + rest, "permit,v2," + rest, "shared,v2,of another form"} {
		want := `cannot read the name "` + name + `" as one of version v1; when`
		if _, err := parse([]string{free, name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPermitNumbers: each permit has the lowest number that is free, and who takes it again keeps it.
func TestPermitNumbers(t *testing.T) {
	path := filepath.Join(tempDir(t), "f")
	take := func(l *Lock, n, want int) {
		t.Helper()
		if err := l.TryPermit(n); err != nil || l.PermitNumber() != want {
			t.Errorf("permit %d of %d, not %d: %v", l.PermitNumber(), n, want, err)
		}
	}
	var locks []*Lock
	for i := range 3 {
		dir, err := StateDir(path, "")
		must(err)
		l := Open(dir, path, -1)
		locks = append(locks, l)
		take(l, 3, i+1)
	}
	must(locks[0].Unlock())
	if n := locks[0].PermitNumber(); n != 0 {
		t.Errorf("permit %d after Unlock", n)
	}
	take(locks[2], 3, 3) // though 1 is free
	take(locks[0], 3, 1)
	must(locks[1].Unlock())
	must(locks[0].Unlock())
	take(locks[2], 2, 1) // of two there is no third
	must(locks[2].TryRLock())
	if n := locks[2].PermitNumber(); n != 0 {
		t.Errorf("permit %d of a shared lock", n)
	}
	take(locks[2], 2, 1)
	if err := locks[2].TryPermit(0); err == nil || locks[2].PermitNumber() != 0 {
		t.Errorf("permit %d after a call that has failed", locks[2].PermitNumber())
	}
	must(locks[2].Unlock())
}

// TestQueueOfDiscarded: who has a place in the queue keeps it when the lock is discarded.
func TestQueueOfDiscarded(t *testing.T) {
	path := filepath.Join(tempDir(t), "f")
	dir, err := StateDir(path, "")
	must(err)
	holder := newLock(dir)
	must(holder.TryLock())
	must(OpenQueue(dir, path).TryPermit(1))
	must(holder.Discard())
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the directory is there: ", err)
	}
	if err := OpenQueue(dir, path).TryPermit(1); !isLocked(err) {
		t.Error("the only place is not taken: ", err)
	}
}
