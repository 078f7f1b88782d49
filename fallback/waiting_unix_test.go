//go:build unix

package fallback

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/fallback/openfile"
)

func init() { roles["wait with few descriptors"] = waitWithFewDescriptors }

// waitWithFewDescriptors waits for one of n permits where a process may have twelve descriptors.
func waitWithFewDescriptors(dir string, n int) {
	must(unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 12, Max: 12}))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := newLock(dir).Permit(ctx, n); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// manyPermits returns the holders of all of n permits.
func manyPermits(t *testing.T, dir string, n int) (holders []*Lock) {
	t.Helper()
	for range n {
		l := newLock(dir)
		if err := l.TryPermit(n); err != nil {
			t.Fatal(err)
		}
		holders = append(holders, l)
	}
	return holders
}

// endAsKilled ends a holder as the kernel does if its process is killed.
func endAsKilled(l *Lock) {
	unix.Close(int(l.self.lifeline))
	l.closeState()
}

// TestFewDescriptors has more permits held than a waiter has descriptors: it waits, and notices that one holder was
// killed.
func TestFewDescriptors(t *testing.T) {
	const permits = 20
	dir := lockFile(t)
	holders := manyPermits(t, dir, permits)
	waiter := child(t, "wait with few descriptors", dir, permits)
	ended := make(chan error, 1)
	go func() { ended <- waiter.Wait() }()
	for look := newLock(dir); ; time.Sleep(time.Millisecond) {
		all, err := look.Contenders()
		must(err)
		if slices.ContainsFunc(all, func(h Contender) bool { return h.Waiting }) {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("the waiter does not wait: %v", err)
		default:
		}
	}
	endAsKilled(holders[0])
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, l := range holders[1:] {
		must(l.Unlock())
	}
	settled(t, dir)
}

// TestWatchesSome: a waiter watches some of many permits, others each time, and looks at the rest soon.
func TestWatchesSome(t *testing.T) {
	const permits = 40
	dir := lockFile(t)
	holders := manyPermits(t, dir, permits)
	state, err := openState(dir, true)
	must(err)
	s := &thisSystem{state, openfile.Table{Opened: -1, FD: -1}}
	l := &Lock{dir: dir, fd: -1, file: -1, state: state}
	waiter := newAttempt(t.Context(), s, l, Request{Mode: Permit, Permits: permits})
	look, err := waiter.look()
	must(err)
	watched := map[string]bool{}
	for round := 0; len(watched) < permits; round++ {
		names, pause := waiter.watchKeepers(waiter.keepers(&look))
		if len(names) != mostWatched || pause > 1500*time.Millisecond || round > 1000 {
			t.Fatalf("watches %d holders for %v; in %d rounds it has watched %d", len(names), pause, round, len(watched))
		}
		for _, name := range names {
			watched[name] = true
		}
	}
	state.close()
	for _, l := range holders {
		must(l.Unlock())
	}
	settled(t, dir)
}

// TestHandOver: who releases an exclusive lock wakes the waiter, by whatever means the system has. A waiter that is not
// woken sleeps for a second or more.
func TestHandOver(t *testing.T) { handOver(t, nil) }

// TestHandOverBehindOneElsewhere: so does who comes after a waiter of another machine, which may be gone for good.
func TestHandOverBehindOneElsewhere(t *testing.T) {
	handOver(t, &owner{"1", 7, 0, "x", machine{host: "b", id: "m", boot: "1", device: "2"}})
}

// TestPermitBehindExclusiveWaiter releases one of two permits: the first waiter cannot use it, and the one behind it can.
func TestPermitBehindExclusiveWaiter(t *testing.T) {
	permit := Request{Mode: Permit, Permits: 2}
	shortest := time.Hour
	for range 3 {
		dir := lockFile(t)
		holder, other, first, second := newLock(dir), newLock(dir), newLock(dir), newLock(dir)
		must(holder.Acquire(t.Context(), permit))
		must(other.Acquire(t.Context(), permit))
		ended, entered := make(chan error, 1), make(chan error, 1)
		go func() { ended <- first.Lock(t.Context()) }()
		awaitWaiters(dir, 1)
		go func() { entered <- second.Acquire(t.Context(), permit) }()
		awaitWaiters(dir, 2)
		time.Sleep(50 * time.Millisecond) // most of the time, they sleep by then
		began := time.Now()
		must(holder.Unlock())
		must(<-entered)
		shortest = min(shortest, time.Since(began))
		must(second.Unlock())
		must(other.Unlock())
		must(<-ended)
		must(first.Unlock())
	}
	if shortest > 500*time.Millisecond {
		t.Errorf("the fastest of three took %v", shortest)
	}
}

// handOver hands a lock over to a waiter, behind another one that is there for ever, if that is not nil.
func handOver(t *testing.T, before *owner) {
	shortest := time.Hour
	for range 3 {
		dir := lockFile(t)
		holder, waiter := newLock(dir), newLock(dir)
		must(holder.TryLock())
		if before != nil {
			must(os.WriteFile(filepath.Join(dir, waiterName(before.String(), Exclusive)), nil, 0o666))
		}
		entered := make(chan error, 1)
		go func() { entered <- waiter.Lock(t.Context()) }()
		awaitWaiter(dir)
		time.Sleep(50 * time.Millisecond) // most of the time, it sleeps by then
		began := time.Now()
		must(holder.Unlock())
		must(<-entered)
		shortest = min(shortest, time.Since(began))
		must(waiter.Unlock())
	}
	if shortest > 500*time.Millisecond {
		t.Errorf("the fastest of three took %v", shortest)
	}
}
