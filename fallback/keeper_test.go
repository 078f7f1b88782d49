//go:build linux

package fallback

import (
	"os"
	"strings"
	"testing"
)

// TestKeeper asserts that a lock lasts while its owner or its keeper lives and has not let go of it.
func TestKeeper(t *testing.T) {
	self := me("")
	keeper := Keeper{self.PID, self.Start}
	tryFor := func(dir string, gone ...Keeper) error {
		l := New(dir, me("other"))
		defer l.Close()
		l.Gone = func(o Owner) bool {
			for _, g := range gone {
				if g == (Keeper{o.PID, o.Start}) {
					return true
				}
			}
			return false
		}
		return l.TryLock(Request{Mode: Exclusive})
	}
	c := child(t, "nobody", "", 0)
	defer c.Wait()
	defer c.Process.Kill()
	living, err := Process(c.Process.Pid)
	must(err)
	for _, test := range []struct {
		what  string
		owner Owner
		gone  []Keeper
		free  bool
	}{
		{"the owner is dead", deadOwner(t), nil, true},
		{"the owner is dead, its keeper lives", Owner{Keeper: keeper}, nil, false},
		{"the owner is dead, its keeper has let go", Owner{Keeper: keeper}, []Keeper{keeper}, true},
		{"the owner has let go, its keeper lives", living, []Keeper{{living.PID, living.Start}}, false},
		{"both have let go", living, []Keeper{{living.PID, living.Start}, keeper}, true},
		{"the keeper has let go, the owner lives", living, []Keeper{keeper}, false},
	} {
		if test.owner.PID == 0 {
			test.owner = deadOwner(t)
			test.owner.Keeper = keeper
		}
		if test.owner.PID == living.PID {
			test.owner.Keeper = keeper
		}
		dir := lockFile(t)
		must(New(dir, test.owner).TryLock(Request{Mode: Shared}))
		if err := tryFor(dir, test.gone...); (err == nil) != test.free {
			t.Errorf("%s: %v", test.what, err)
		}
	}
}

// TestMineByKeeper asserts that Mine is called for both processes of a lock.
func TestMineByKeeper(t *testing.T) {
	dir := lockFile(t)
	o := deadOwner(t)
	o.Keeper = Keeper{os.Getpid(), me("").Start}
	held := New(dir, o)
	must(held.TryLock(Request{Mode: Exclusive}))
	held.disclaim("") // as if another process had locked
	l := New(dir, me("other"))
	if err := l.TryLock(Request{Mode: Exclusive}); err == nil {
		t.Fatal("two inside")
	}
	l.Mine = func(p Owner) bool { return p.PID == os.Getpid() }
	must(l.TryLock(Request{Mode: Shared}))
	must(l.Unlock())
	settled(t, dir)
}

func TestTagTooLong(t *testing.T) {
	dir := lockFile(t)
	must(New(dir, me(strings.Repeat("x", maxTag))).TryLock(Request{Mode: Shared}))
	for _, tag := range []string{strings.Repeat("x", maxTag+1), strings.Repeat(" ", maxTag/2)} {
		if err := New(dir, me(tag)).TryLock(Request{Mode: Shared}); err == nil {
			t.Errorf("a lock with a tag of %d bytes", len(tag))
		}
	}
}

func TestBadKeeper(t *testing.T) {
	o := me("")
	o.Keeper = Keeper{1, "2"}
	id := o.canonical().renewed().id()
	if _, ok := parseID(id); !ok {
		t.Fatal(id)
	}
	for _, bad := range []string{",0,2,", ",-1,2,", ",01,2,", ",x,2,", ",1,2,3,", ",1,"} {
		if _, ok := parseID(strings.Replace(id, ",1,2,", bad, 1)); ok {
			t.Errorf("understood: %s", bad)
		}
	}
}
