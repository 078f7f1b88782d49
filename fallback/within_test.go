//go:build linux

package fallback

import (
	"context"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"
)

// Several Locks of one process, with one owner.

func TestLocksOfOneProcessExcludeEachOther(t *testing.T) {
	for name, owner := range map[string]Owner{"own process": me(""), "another process": parentProcess()} {
		t.Run(name, func(t *testing.T) {
			dir := lockFile(t)
			var wg sync.WaitGroup
			// Exclusive holders write, the others read: the race detector sees those, too, that no check catches.
			inside, rounds := 0, 0
			for range 8 {
				wg.Go(func() {
					l := New(dir, owner)
					defer l.Close()
					for range 30 {
						mode := Mode(1 + rand.N(3))
						must(l.Lock(context.Background(), Request{mode, 2}))
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
								must(l.Lock(context.Background(), Request{Shared, 2}))
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
		})
	}
}

func TestUnlockFreesTheLockOfItsOwnLockOnly(t *testing.T) {
	dir := lockFile(t)
	a, b := New(dir, me("")), New(dir, me(""))
	for _, mode := range []Mode{Exclusive, Shared, Permit} {
		must(a.TryLock(Request{mode, 1}))
		must(b.Unlock())
		if err := b.TryLock(Request{Mode: Exclusive}); err == nil {
			t.Fatalf("two inside, the first with mode %v", mode)
		}
		must(b.Unlock())
		must(a.TryLock(Request{mode, 1}))
	}
	must(a.Unlock())
	must(b.TryLock(Request{Mode: Exclusive}))
	must(a.Unlock())
	if err := a.TryLock(Request{Mode: Shared}); err == nil {
		t.Fatal("two inside")
	}
	must(b.Unlock())
	settled(t, dir)
	for nonce, l := range claims.by {
		if l == a || l == b {
			t.Error("still claimed:", nonce)
		}
	}
}

func parentProcess() Owner {
	o, err := Process(os.Getppid())
	must(err)
	return o
}

// lockForParent does what flock(1) does for the shell that calls it.
func lockForParent(dir string, n int) {
	l := New(dir, parentProcess())
	if n == 0 {
		must(l.Unlock())
		return
	}
	must(l.TryLock(Request{Mode: Mode(n)}))
}

func TestAnotherProcessConvertsAndUnlocksForTheSameOwner(t *testing.T) {
	dir := lockFile(t)
	l := New(dir, me(""))
	by := func(mode Mode) {
		t.Helper()
		if err := child(t, "lock for parent", dir, int(mode)).Wait(); err != nil {
			t.Fatal(err)
		}
	}
	free := func(mode Mode) bool { return New(dir, me("other")).TryLock(Request{Mode: mode}) == nil }
	by(Exclusive)
	must(l.TryLock(Request{Mode: Shared})) // what the child took
	if free(Exclusive) {
		t.Fatal("two inside")
	}
	by(Exclusive)
	if free(Shared) {
		t.Fatal("two inside")
	}
	must(l.Unlock())
	must(l.TryLock(Request{Mode: Exclusive}))
	by(0)
	settled(t, dir)
}
