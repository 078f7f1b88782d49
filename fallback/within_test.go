//go:build linux

package fallback

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Several Locks of one process, and of several processes with one owner.

func TestLocksOfOneProcessExcludeEachOther(t *testing.T) {
	dir := lockFile(t)
	var wg sync.WaitGroup
	// Exclusive holders write, the others read: the race detector sees those, too, that no check catches.
	inside, rounds := 0, 0
	for range 8 {
		wg.Go(func() {
			l, err := Open(filepath.Join(filepath.Dir(dir), "f"))
			must(err)
			for range 60 {
				mode := Mode(1 + rand.N(3))
				must(l.lock(context.Background(), Request{Mode: mode, Permits: 2}))
				if mode == Exclusive {
					inside++
					rounds++
				}
				if mode == Exclusive && inside != 1 || mode != Exclusive && inside != 0 {
					t.Errorf("%v, and %d inside", mode, inside)
				}
				time.Sleep(time.Duration(rand.N(200)) * time.Microsecond)
				if mode == Exclusive {
					inside--
					if rand.N(2) == 0 { // a conversion
						must(l.RLock(context.Background()))
					}
				}
				must(l.Unlock())
			}
		})
	}
	wg.Wait()
	if rounds == 0 {
		t.Error("nobody was ever inside alone")
	}
	settled(t, dir)
}

func TestUnlockFreesTheLockOfItsOwnLockOnly(t *testing.T) {
	dir := lockFile(t)
	a, b := newLock(dir), newLock(dir)
	for _, mode := range []Mode{Exclusive, Shared, Permit} {
		must(a.try(Request{Mode: mode, Permits: 1}))
		must(b.Unlock())
		if err := b.TryLock(); err == nil {
			t.Fatalf("two inside, the first with mode %v", mode)
		}
		must(b.Unlock())
		must(a.try(Request{Mode: mode, Permits: 1}))
	}
	must(a.Unlock())
	must(b.TryLock())
	must(a.Unlock())
	if err := a.TryRLock(); err == nil {
		t.Fatal("two inside")
	}
	must(b.Unlock())
	settled(t, dir)
	if len(a.nonces)+len(b.nonces) > 0 {
		t.Error("still known:", a.nonces, b.nonces)
	}
}

// lockForParent does what flock(1) does for the shell that calls it, where open files cannot be marked.
func lockForParent(dir string, n int) {
	l := lockOf(dir, os.Getppid())
	if n == 0 {
		must(l.Unlock())
		return
	}
	must(l.try(Request{Mode: Mode(n)}))
}

func TestAnotherProcessConvertsAndUnlocksForTheSameOwner(t *testing.T) {
	dir := lockFile(t)
	l := lockOf(dir, os.Getpid())
	by := func(mode Mode) {
		t.Helper()
		if err := child(t, "lock for parent", dir, int(mode)).Wait(); err != nil {
			t.Fatal(err)
		}
	}
	free := func(mode Mode) bool { return lockOf(dir, os.Getppid()).try(Request{Mode: mode}) == nil }
	by(Exclusive)
	must(l.TryRLock()) // what the child took
	if free(Exclusive) {
		t.Fatal("two inside")
	}
	by(Exclusive)
	if free(Shared) {
		t.Fatal("two inside")
	}
	must(l.Unlock())
	must(l.TryLock())
	by(0)
	settled(t, dir)
}
