package fallback

import (
	"path/filepath"
	"testing"
	"time"

	"example.org/flock/fallback/openfile"
)

// newWaiter returns a holder and, behind it, an attempt with a lifeline, as on systems that do not tell the end of one.
func newWaiter(t *testing.T) (holder *Lock, waiter *attempt, s *thisSystem) {
	t.Helper()
	was := tellsEnd
	tellsEnd = false
	dir := lockFile(t)
	holder = newLock(dir)
	must(holder.TryLock())
	state, err := openState(dir, true)
	must(err)
	l := &Lock{dir: dir, path: filepath.Join(filepath.Dir(dir), "f"), fd: -1, file: -1, state: state}
	s = &thisSystem{state, openfile.Table{Path: l.path, Opened: -1, FD: -1}}
	waiter = newAttempt(t.Context(), s, l, Request{Mode: Exclusive})
	_, err = waiter.come()
	must(err)
	t.Cleanup(func() {
		waiter.leave()
		state.close()
		tellsEnd = was
	})
	return holder, waiter, s
}

// TestReleaseRings: where the system does not tell the end of a lifeline, who releases the lock tells the first waiter.
func TestReleaseRings(t *testing.T) {
	holder, waiter, s := newWaiter(t)
	must(holder.Unlock())
	if timedOut, err := s.wait(waiter.self.lifeline, nil, 10*time.Second); timedOut || err != nil {
		t.Errorf("the waiter is not rung: %v, %v", timedOut, err)
	}
}

// TestEndIsLookedFor: there, a waiter finds soon that one has gone who rings nobody.
func TestEndIsLookedFor(t *testing.T) {
	shortest := time.Hour
	for range 3 {
		holder, waiter, s := newWaiter(t)
		go func() {
			time.Sleep(50 * time.Millisecond) // most of the time, the wait has begun
			s.CloseLifeline(holder.self.lifeline)
		}()
		began := time.Now()
		isHeld, keepers, err := waiter.acquire(nil)
		if err != nil || !isHeld {
			t.Errorf("the end of the holder is not found: %v, %v", keepers, err)
		}
		shortest = min(shortest, time.Since(began))
		holder.closeState()
	}
	if shortest > 500*time.Millisecond {
		t.Errorf("the fastest of three took %v", shortest)
	}
}
