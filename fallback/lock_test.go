//go:build linux

package fallback

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

func TestConversions(t *testing.T) {
	dir := lockFile(t)
	a, b := newLock(dir), newLock(dir)
	x, s := Request{Mode: Exclusive, Try: true}, Request{Mode: Shared, Try: true}
	p1, p2 := Request{Mode: Permit, Permits: 1, Try: true}, Request{Mode: Permit, Permits: 2, Try: true}
	try := func(l *Lock, r Request, want bool) {
		t.Helper()
		err := l.Acquire(context.Background(), r)
		if err != nil && !errors.Is(err, ErrLocked) {
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

func TestDeadline(t *testing.T) {
	dir := lockFile(t)
	must(newLock(dir).TryLock())
	start := time.Now()
	ctx, cancel := context.WithDeadline(context.Background(), start.Add(300*time.Millisecond))
	defer cancel()
	err := newLock(dir).RLock(ctx)
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
	later, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	err = newLock(dir).Acquire(later, Request{Mode: Shared, Try: true})
	if !errors.Is(err, ErrLocked) || errors.Is(err, context.DeadlineExceeded) {
		t.Error("refused at once, an hour before the deadline: ", err)
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

// TestReach: who is dead, and who can be asked, is known only where it is certain.
func TestReach(t *testing.T) {
	now := machine{user{"0", "0", initialUsers}, "h", "m", "2", pidNamespace{initialPIDs, "1"}, "+0"}
	unmounted := here
	if unix.Ustat(0, new(unix.Ustat_t)) == unix.ENOSYS { // under qemu-user
		unmounted = mounted
	}
	for name, c := range map[string]struct {
		change func(here, other *machine)
		want   reach
	}{
		"the same":                      {func(here, o *machine) {}, here},
		"another pid namespace":         {func(here, o *machine) { o.pids.number = "1" }, here},
		"ustat was forbidden":           {func(here, o *machine) { o.device = "0" }, here},
		"ustat is forbidden":            {func(here, o *machine) { here.device = "0" }, here},
		"another mount":                 {func(here, o *machine) { here.device, o.device = "1", "2" }, mounted},
		"a filesystem that is gone":     {func(here, o *machine) { o.device = "+fffff" }, unmounted},
		"a device that ustat never had": {func(here, o *machine) { o.device = "fffff" }, mounted},
		"no boot id, in a chroot":       {func(here, o *machine) { here.boot, here.id = "", "" }, here},
		"no boot id, unmounted":         {func(here, o *machine) { here.boot, o.device = "", "+fffff" }, mounted},
		"no boot id, another host":      {func(here, o *machine) { here.boot, here.host = "", "i" }, far},
		"an earlier boot":               {func(here, o *machine) { o.boot = "1" }, past},
		"another boot, another host":    {func(here, o *machine) { o.boot, o.host = "1", "i" }, far},
		"another boot, host unknown":    {func(here, o *machine) { o.boot, here.host, o.host = "1", "", "" }, far},
		"another boot, another machine": {func(here, o *machine) { o.boot, o.id = "1", "n" }, far},
		"another boot, machine unknown": {func(here, o *machine) { o.boot, here.id, o.id = "1", "", "" }, far},
		"it ran in a container":         {func(here, o *machine) { o.boot, o.pids.number = "1", "4026532198" }, far},
		"who looks is in a container":   {func(here, o *machine) { o.boot, here.pids.number = "1", "4026532198" }, far},
		"namespaces unknown": {func(here, o *machine) {
			o.boot, here.pids, o.pids = "1", pidNamespace{}, pidNamespace{}
		}, far},
	} {
		mine, other := now, now
		c.change(&mine, &other)
		if got := mine.reach(other); got != c.want {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
	for file, known := range map[string]string{"pid": thisMachine().pids.number, "user": thisMachine().user.namespace} {
		if link, err := os.Readlink("/proc/self/ns/" + file); err != nil || known != strings.Trim(link, file+":[]") {
			t.Errorf("%q is not %q", known, link)
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
	if start := thisMachine().pids.start1; start == "" {
		t.Error("the start of process 1 is not known")
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

// TestErrorsAreOneLine: what others have written reaches no terminal as it is.
func TestErrorsAreOneLine(t *testing.T) {
	evil := "\x1b[31m\n\u009b\u202e\x9b"
	for _, err := range []error{
		&LockedError{Holders: []Holder{{PID: 1, Where: evil, Path: evil, Unreachable: true}}},
		&stateDirError{"cannot lock", evil, stateError(evil)},
		stateError(evil),
	} {
		if s := err.Error(); strings.ContainsAny(s, "\x1b\n\u009b\u202e") || !utf8.ValidString(s) {
			t.Errorf("%q", s)
		}
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{
		"a b", "a\nb", "\xff\xfe", strings.Repeat("x", 255), strings.Repeat("ü", 127), "-n", "%41", "a,b",
	} {
		file := filepath.Join(t.TempDir(), name)
		must(os.WriteFile(file, nil, 0o666))
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
		must(os.MkdirAll(filepath.Dir(file), 0o777))
		must(os.WriteFile(file, nil, 0o666))
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
	must(os.WriteFile("f", nil, 0o666))
	if dir, err := StateDir("f", "."); err == nil {
		t.Fatalf("%q is another place for each working directory", dir)
	}
}

func TestNamesOfRecords(t *testing.T) {
	const centuries = 1 << 40 // in clock ticks: time namespaces move the start of a process by one at most
	const maxPID = 1 << 22    // on Linux (PID_MAX_LIMIT, include/linux/threads.h), which has the locks of open files
	digits, thirteen := strings.Repeat("9", 10), strings.Repeat("x", 13)
	long := machine{user{digits, digits, digits}, strings.Repeat("h", maxHost), thirteen, thirteen,
		pidNamespace{digits, strconv.FormatUint(centuries, 36)}, "+ffffffff"}
	files := []*openFile{nil,
		{place{maxPID, centuries, math.MaxInt32}, math.MaxUint64, noAtime, lastSignal, centuries - 1}}
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

// TestNamesOfOtherVersions: a holder or a busy token of another version refuses the lock, and the error says which
// version it has. Its waiters keep nobody out.
func TestNamesOfOtherVersions(t *testing.T) {
	const rest = "000629f1b3a4c,7,x.1,0.0.u,h,m,b,4026531836.1,+d"
	if _, err := parse([]string{free, "wait," + rest + "@excl", "new,v2," + rest}); err != nil {
		t.Errorf("a waiter: %v", err)
	}
	for name, want := range map[string]string{
		"excl," + rest:               "an earlier build",
		"busy," + rest:               "an earlier build",
		"permit," + rest:             "an earlier build",
		"excl,v2," + rest:            "version 2 of the directory lock: this flock has version 1;",
		"shared,v2,of another form":  "version 2 of the directory lock: this flock has version 1;",
		"shared,no name of any kind": `kind"; when`,
	} {
		if _, err := parse([]string{free, name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPermitNumbers: each permit has the lowest number that is free, and who takes it again keeps it.
func TestPermitNumbers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	take := func(l *Lock, n, want int) {
		t.Helper()
		if err := l.TryPermit(n); err != nil || l.PermitNumber() != want {
			t.Errorf("permit %d of %d, not %d: %v", l.PermitNumber(), n, want, err)
		}
	}
	var locks []*Lock
	for i := range 3 {
		l, err := Open(path)
		must(err)
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
	must(locks[2].Unlock())
}

// TestLockedPath: a lifeline that a command has inherited leads back to the file.
func TestLockedPath(t *testing.T) {
	d, err := filepath.EvalSymlinks(t.TempDir())
	must(err)
	for name, isKnown := range map[string]bool{
		"f": true, "a b+c%": true, ".flock": true, strings.Repeat("x", 255): false,
	} {
		path := filepath.Join(d, name)
		must(os.WriteFile(path, nil, 0o666))
		for _, base := range []string{"", d} {
			dir, err := StateDir(path, base)
			must(err)
			if got, _ := lockedPath(dir); (got == path) != isKnown || !isKnown && got != "" {
				t.Errorf("%q became %q", path, got)
			}
		}
	}
	dir, err := StateDir(d, "")
	must(err)
	if got, _ := lockedPath(dir); got != d {
		t.Errorf("%q became %q", d, got)
	}
}

func TestMissingFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none")
	before, err := StateDir(file, "")
	must(err)
	must(os.WriteFile(file, nil, 0o666))
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

// TestNoPlaceForTheState: where no directory can be made there is an error and no endless loop.
func TestNoPlaceForTheState(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	for _, c := range []struct{ file, stateIn string }{
		{"/proc/version", ""}, {file, "/proc"}, {file, filepath.Join(t.TempDir(), "none")},
	} {
		dir, err := StateDir(c.file, c.stateIn)
		if err == nil {
			err = newLock(dir).Lock(context.Background())
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", c, err)
		}
	}
}

// A listing is a directory in which a listing makes something else of lifelines.
type listing struct {
	*thisSystem
	replace func(path string) error
}

func (l listing) List() ([]string, error) {
	names, err := l.thisSystem.List()
	for _, name := range names {
		if strings.HasPrefix(name, waitName) {
			path := filepath.Join(l.path, name)
			must(os.Remove(path))
			must(l.replace(path))
		}
	}
	return names, err
}

// TestDeafLifeline: where a lifeline does not answer there is an error, and nothing is left. On SMB it becomes a plain
// file when the directory is listed, on filesystems without a cache there is another FIFO by each look at the name.
func TestDeafLifeline(t *testing.T) {
	for what, replace := range map[string]func(string) error{
		"a plain file": func(path string) error { return os.WriteFile(path, nil, 0o666) },
		"another FIFO": func(path string) error { return unix.Mkfifo(path, 0o666) },
	} {
		dir := lockFile(t)
		state, err := openState(dir, true)
		must(err)
		l := &Lock{dir: dir, path: filepath.Join(filepath.Dir(dir), "f"), fd: -1, state: state}
		s := &thisSystem{stateDir: state, file: l.path, opened: -1, fd: -1, closes: notWatching}
		a := newAttempt(listing{s, replace}, l, Request{Mode: Exclusive, Try: true})
		how, _, err := a.acquire(t.Context(), nil)
		if err != errDeaf {
			t.Errorf("%s: %v", what, err)
		}
		l.end(a, how, err)
		settled(t, dir)
	}
}

// TestRemovedMeanwhile removes by hand what a waiter needs: it begins anew, or says what is wrong.
func TestRemovedMeanwhile(t *testing.T) {
	for what, c := range map[string]struct {
		remove func(dir, waiter string)
		says   string // "": it has the lock when the holder is gone
	}{
		"its name":      {func(dir, waiter string) { must(os.Remove(filepath.Join(dir, waiter))) }, ""},
		"the directory": {func(dir, waiter string) { must(os.RemoveAll(dir)) }, ""},
		"the token":     {func(dir, waiter string) { must(os.Remove(filepath.Join(dir, free))) }, "token is missing"},
		"the directory, by one who was killed when it had moved it away": {func(dir, waiter string) {
			state, err := openState(dir, false)
			must(err)
			defer state.close()
			id := newID(pid, 0, time.Now(), state.here)
			must(state.Make(recordName(Exclusive, id, 0, nil)))
			must(state.Rename(free, busy+","+id))
			must(os.Mkdir(stagingName(dir), 0o777))
			must(os.Rename(dir, filepath.Join(stagingName(dir), nonce())))
		}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := lockFile(t)
			holder, waiter := newLock(dir), newLock(dir)
			must(holder.TryLock())
			ended := make(chan error)
			go func() { ended <- waiter.Lock(context.Background()) }()
			name := ""
			for name == "" {
				for _, n := range list(t, dir) {
					if strings.HasPrefix(n, waitName) {
						name = n
					}
				}
			}
			c.remove(dir, name)
			must(holder.Unlock())
			select {
			case err := <-ended:
				if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Error(err)
				}
				if err == nil && newLock(dir).TryLock() == nil {
					t.Error("two inside")
				}
			case <-time.After(time.Minute):
				t.Error("it waits for ever")
			}
		})
	}
}

// TestStateDirectoryRemovedMeanwhile: the holder's Unlock is no error, and the next lock makes it anew.
func TestStateDirectoryRemovedMeanwhile(t *testing.T) {
	dir := lockFile(t)
	l := newLock(dir)
	must(l.TryRLock())
	must(os.RemoveAll(dir))
	must(l.Unlock())
	must(l.TryLock())
	must(l.Unlock())
	settled(t, dir)
}

// TestDiscard removes the state directory of a lock that nobody else uses.
func TestDiscard(t *testing.T) {
	dir := lockFile(t)
	a, b := newLock(dir), newLock(dir)
	must(a.TryRLock())
	must(b.TryRLock())
	must(a.Discard())
	if names := list(t, dir); len(names) != 2 {
		t.Errorf("beside another holder: %q", names)
	}
	must(b.Discard())
	if names := list(t, filepath.Dir(dir)); !slices.Equal(names, []string{"f"}) {
		t.Errorf("left: %q", names)
	}
	settled(t, dir)
}

// TestHostilePlaces: what somebody has put into the place of the state is an error that names it.
func TestHostilePlaces(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(dir string)
		says    string // "": works all the same
	}{
		"link":         {func(d string) { os.Mkdir(d+"2", 0o777); os.Symlink(d+"2", d) }, "symbolic link"},
		"file":         {func(d string) { os.WriteFile(d, nil, 0o666) }, "not a directory"},
		"staging link": {func(d string) { os.Symlink(".", stagingName(d)) }, "symbolic link"},
		"no token": {func(d string) { os.Mkdir(d, 0o777); os.WriteFile(d+"/README", nil, 0o666) },
			"token is missing"},
		"foreign names": {func(d string) {
			os.Mkdir(d, 0o777)
			os.WriteFile(d+"/free", nil, 0o666)
			os.WriteFile(d+"/.nfs0001", nil, 0o666)
			os.WriteFile(d+"/a,b\n\xff", nil, 0o666)
		}, ""},
		"a file for a lifeline": {func(d string) {
			os.Mkdir(d, 0o777)
			os.WriteFile(d+"/free", nil, 0o666)
			s := &stateDir{path: d}
			must(s.open(false))
			os.WriteFile(d+"/"+recordName(Exclusive, newID(1, 0, time.Now(), s.Machine()), 0, nil), nil, 0o666)
		}, "locked"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := lockFile(t)
			c.prepare(dir)
			err := newLock(dir).TryLock()
			switch {
			case c.says == "" && err != nil:
				t.Fatal(err)
			case c.says == "":
			case c.says == "locked" && errors.Is(err, ErrLocked):
			case err == nil, !strings.Contains(err.Error(), c.says),
				!strings.Contains(err.Error(), dir), strings.Contains(err.Error(), "\n"):
				t.Fatal(err)
			}
		})
	}
}
