package fallback

import (
	"context"
	"path/filepath"
	"testing"
	"time"
)

// endsAreUntold has a test run as on systems that do not tell the end of a lifeline.
func endsAreUntold(t *testing.T) {
	was := tellsEnd
	tellsEnd = false
	t.Cleanup(func() { tellsEnd = was })
}

// newWaiter returns an attempt with a lifeline in a state directory, behind a holder.
func newWaiter(t *testing.T, dir string) (*attempt, *thisSystem) {
	t.Helper()
	state, err := openState(dir, true)
	must(err)
	l := &Lock{dir: dir, path: filepath.Join(filepath.Dir(dir), "f"), fd: -1, file: -1, state: state}
	s := &thisSystem{stateDir: state, file: l.path, opened: -1, fd: -1, closes: notWatching}
	a := newAttempt(s, l, Request{Mode: Exclusive})
	must(a.come())
	t.Cleanup(func() { a.leave(); state.close() })
	return a, s
}

// TestReleaseRings: where the system does not tell the end of a lifeline, who releases the lock tells the first waiter.
func TestReleaseRings(t *testing.T) {
	endsAreUntold(t)
	dir := lockFile(t)
	holder := newLock(dir)
	must(holder.TryLock())
	waiter, s := newWaiter(t, dir)
	must(holder.Unlock())
	if timedOut, err := s.wait(waiter.self.life, notWatching, nil, time.Minute); timedOut || err != nil {
		t.Errorf("the waiter is not rung: %v, %v", timedOut, err)
	}
}

// TestEndIsAskedFor: there, a waiter finds that one has gone who rings nobody.
func TestEndIsAskedFor(t *testing.T) {
	endsAreUntold(t)
	dir := lockFile(t)
	holder := newLock(dir)
	must(holder.TryLock())
	waiter, s := newWaiter(t, dir)
	go func() {
		time.Sleep(50 * time.Millisecond) // most of the time, the wait has begun
		s.CloseLifeline(holder.self.life)
	}()
	others := []string{holder.self.name}
	timedOut, err := s.Wait(context.Background(), waiter.self.life, others, time.Minute)
	if timedOut || err != nil {
		t.Errorf("the end of the holder is not found: %v, %v", timedOut, err)
	}
	holder.closeState()
}
