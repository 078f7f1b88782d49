package fallback

import (
	"context"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestReleaseWakes lets waiters come before and after the lock is taken, and looks who is woken when it is given up.
func TestReleaseWakes(t *testing.T) {
	ctx := context.Background()
	lock := func(l *Lock) error { return l.Lock(ctx) }
	permit := func(l *Lock) error { return l.Permit(ctx, 2) }
	for _, c := range []struct {
		name          string
		take, give    func(*Lock) error
		before, after []Mode
		deaf          bool // those who came before do not listen any more
		woken         string
	}{
		{"those who came before", lock, (*Lock).Unlock, []Mode{Exclusive, Exclusive, Exclusive}, []Mode{Exclusive}, false, "110 0"},
		{"one before and one after", lock, (*Lock).Unlock, []Mode{Exclusive}, []Mode{Exclusive, Exclusive}, false, "1 11"},
		{"only those who came after", lock, (*Lock).Unlock, nil, []Mode{Shared, Exclusive}, false, " 11"},
		{"those before have left", lock, (*Lock).Unlock, []Mode{Exclusive, Exclusive}, []Mode{Shared}, true, " 1"},
		{"a permit", permit, (*Lock).Unlock, []Mode{Exclusive, Exclusive}, []Mode{Permit}, false, "11 1"},
		{"a downgrade", lock, func(l *Lock) error { return l.RLock(ctx) }, []Mode{Exclusive, Exclusive}, []Mode{Shared}, false, "11 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLock(lockFile(t))
			state, err := openState(l.dir, true)
			must(err)
			t.Cleanup(func() { state.close() })
			join := func(modes []Mode) (lines []*line) {
				for _, mode := range modes {
					waiter := &line{state: state}
					waiter.join(me(), mode)
					t.Cleanup(waiter.leave)
					lines = append(lines, waiter)
				}
				return lines
			}
			rung := func(lines []*line) (digits string) {
				for _, waiter := range lines {
					unread, err := unix.IoctlGetInt(waiter.bell, unix.TIOCINQ)
					digits += string('0' + byte(min(unread, 1)))
					if err != nil {
						return err.Error()
					}
				}
				return digits
			}
			before := join(c.before)
			must(c.take(l))
			for _, waiter := range before {
				unix.Read(waiter.bell, make([]byte, 64))
				if c.deaf {
					closeEntry(waiter.bell)
					waiter.bell = 0
				}
			}
			if c.deaf {
				before = nil
			}
			after := join(c.after)
			must(c.give(l))
			if woken := rung(before) + " " + rung(after); woken != c.woken {
				t.Errorf("woken: %q, wanted %q", woken, c.woken)
			}
		})
	}
}

// TestTurns has waiters ahead that are stopped or gone: only the turn of the one that waits and runs is awaited.
func TestTurns(t *testing.T) {
	state, err := openState(lockFile(t), true)
	must(err)
	defer state.close()
	stopped := exec.Command("sleep", "1000")
	must(stopped.Start())
	defer stopped.Wait()
	defer stopped.Process.Kill()
	must(stopped.Process.Signal(unix.SIGSTOP))
	_, err = unix.Wait4(stopped.Process.Pid, nil, unix.WUNTRACED, nil)
	must(err)
	its, err := process(stopped.Process.Pid)
	must(err)
	var names []string
	var lines [4]line
	for i, o := range []owner{me(), its, me(), me()} {
		lines[i].state = state
		lines[i].enter(o, Exclusive, strconv.Itoa(i))
		defer lines[i].leave()
		names = append(names, lines[i].name)
	}
	ahead, rivals := lines[3].before(names, Exclusive)
	if len(ahead) != 3 || !slices.Equal(ahead, rivals) {
		t.Fatalf("%q %q", ahead, rivals)
	}
	lines[2].leave()
	if d := lines[3].turns(ahead, searchTurn); d != searchTurn {
		t.Errorf("%v, not %v", d, searchTurn)
	}
}

// TestNewcomersDoNotSearch asserts that who comes when enough others wait leaves the search for an open file to them, unless it
// does not wait itself.
func TestNewcomersDoNotSearch(t *testing.T) {
	l := newLock(lockFile(t))
	l.ofSelf = true
	state, err := openState(l.dir, true)
	must(err)
	defer state.close()
	var lines [eldest]line
	var s snapshot
	for i := range lines {
		lines[i].state = state
		lines[i].join(me(), Exclusive)
		defer lines[i].leave()
		s.waiters = append(s.waiters, lines[i].name)
	}
	for _, c := range []struct {
		r       Request
		waiters []string
		want    bool
	}{
		{Request{Mode: Exclusive}, s.waiters, true},
		{Request{Mode: Exclusive}, s.waiters[1:], false},
		{Request{Mode: Shared}, s.waiters, false},
		{Request{Mode: Exclusive, Try: true}, s.waiters, false},
	} {
		call := newCall(l, c.r, me(), state, thisSystem{-1})
		call.line = &line{state: state}
		if got := call.othersSearch(snapshot{waiters: c.waiters}); got != c.want {
			t.Errorf("%+v beside %d waiters: %v", c.r, len(c.waiters), got)
		}
	}
	call := newCall(l, Request{Mode: Exclusive}, me(), state, thisSystem{-1})
	call.line = &lines[eldest-1]
	if call.othersSearch(s) {
		t.Error("one of the eldest does not search")
	}
}

// TestBehindThoseWhoDoNotRun has enough waiters that are woken and do nothing, as in a frozen container: a younger one finds
// the lock free all the same.
func TestBehindThoseWhoDoNotRun(t *testing.T) {
	t.Parallel()
	l := newLock(lockFile(t))
	must(l.TryLock())
	state, err := openState(l.dir, true)
	must(err)
	defer state.close()
	for range eldest {
		waiter := &line{state: state}
		waiter.join(me(), Exclusive)
		defer waiter.leave()
	}
	waiter, isWaiting, got := newLock(l.dir), make(chan bool), make(chan error)
	waiter.Waiting = func(*LockedError) { close(isWaiting) }
	go func() { got <- waiter.Lock(until(time.Now().Add(time.Minute))) }()
	<-isWaiting
	must(l.Unlock())
	must(<-got)
}
