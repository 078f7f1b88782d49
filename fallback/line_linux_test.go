package fallback

import (
	"context"
	"testing"

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
