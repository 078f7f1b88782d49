//go:build unix

package lease

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var taken = Line{{Mode: Exclusive}}

var errAgain = &Unanswered{Why: "not now"}

// attempts returns an attempt that has one error after the other, and the last one for ever.
func attempts(n *atomic.Int32, errs ...error) func(context.Context, bool) (int, error) {
	return func(context.Context, bool) (int, error) {
		i := int(n.Add(1))
		return i, errs[min(i, len(errs))-1]
	}
}

func silence(ctx context.Context, _ bool) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

func TestAsk(t *testing.T) {
	t.Parallel()
	refusal := errors.New("no")
	for _, c := range []struct {
		what    string
		errs    []error
		want    error
		answer  int
		repeats int
	}{
		{"an answer", []error{nil}, nil, 1, 0},
		{"after two attempts", []error{errAgain, errAgain, nil}, nil, 3, 2},
		{"a refusal", []error{errAgain, refusal}, refusal, 2, 1},
	} {
		l := &Link{Reach: time.Minute}
		answer, err := Ask(t.Context(), l, attempts(new(atomic.Int32), c.errs...))
		if answer != c.answer || err != c.want || l.Repeats() != c.repeats || !l.Reached() {
			t.Errorf("%s: %d, %v, %d repeated", c.what, answer, err, l.Repeats())
		}
	}
}

// Another attempt begins, anew, when the first is silent, and not before.
func TestAskBeside(t *testing.T) {
	t.Parallel()
	l := &Link{Reach: time.Minute}
	var n atomic.Int32
	beside := func(first func(context.Context, bool) (int, error)) (int, error) {
		return Ask(t.Context(), l, func(ctx context.Context, anew bool) (int, error) {
			if anew {
				return attempts(&n, nil)(ctx, anew)
			}
			return first(ctx, anew)
		})
	}
	if answer, err := beside(silence); answer != 1 || err != nil {
		t.Errorf("%d, %v", answer, err)
	}
	answer, err := beside(attempts(new(atomic.Int32), nil))
	if answer != 1 || err != nil || n.Load() != 1 {
		t.Errorf("%d, %v, %d attempts beside", answer, err, n.Load())
	}
}

// A server that takes 8 s for each answer is not asked more than twice at once, nor more and more often.
func TestAskSlow(t *testing.T) {
	for _, c := range []struct {
		what          string
		slowness      time.Duration
		total, beside int32
	}{
		{"for the first time", 0, 4, 3},                 // at 0, 1.25, 3.1 and 5.9 s
		{"as the last time", 8 * time.Second, 2, 1},     // slow is not silent
		{"with fast answers before", time.Second, 4, 3}, // at 0, 1.25, 3.25 and 6.25 s
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &Link{waits: true, reached: true, TTL: time.Minute, silent: func(string) {}, back: func() {}}
			l.slowness.Store(int64(c.slowness))
			var total, beside, now, most atomic.Int32
			_, err := Ask(t.Context(), l, func(ctx context.Context, anew bool) (int, error) {
				total.Add(1)
				if anew {
					beside.Add(1)
				}
				synctest.Wait() // one that is given up ends before
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				select {
				case <-time.After(8 * time.Second):
					return 0, nil
				case <-ctx.Done():
					return 0, ctx.Err()
				}
			})
			if err != nil || total.Load() != c.total || beside.Load() != c.beside || most.Load() != 2 {
				t.Errorf("%s: %v, %d attempts, %d of them anew, %d at once", c.what, err, total.Load(), beside.Load(),
					most.Load())
			}
		})
	}
}

// Where an address leads to frozen servers, too, a holder tries it five times in the time that it has.
func TestAskFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Link{waits: true, reached: true, TTL: time.Minute, silent: func(string) {}, back: func() {}}
		l.slowness.Store(int64(10 * time.Millisecond))
		began, n := time.Now(), 0
		var starts []time.Duration
		_, err := Ask(t.Context(), l, func(ctx context.Context, anew bool) (int, error) {
			n++
			starts = append(starts, time.Since(began))
			if n < 6 {
				return silence(ctx, anew)
			}
			return 0, nil
		})
		// A holder with a TTL of 10 s renews after 2 s, and has 4 s more for that.
		if at := starts[len(starts)-1]; err != nil || n != 6 || at > 4*time.Second {
			t.Errorf("%v, attempts at %v", err, starts)
		}
	})
}

// What this side refuses does not show that the server answers.
func TestMisusedIsNoAnswer(t *testing.T) {
	l := &Link{}
	if l.TakeNote(Misused("certificate")); l.Reached() {
		t.Error("reached by what this side refuses")
	}
	if l.TakeNote(Denied("who are you?")); !l.Reached() {
		t.Error("not reached by what the server refuses")
	}
}

// TestLimit has a server that is silent from the beginning, or after one answer.
func TestLimit(t *testing.T) {
	t.Parallel()
	const reach = 100 * time.Millisecond
	for _, c := range []struct {
		what    string
		l       *Link
		reached bool
		limited bool
	}{
		{"one that waits", &Link{waits: true}, false, true},
		{"one that waits, later", &Link{waits: true}, true, false},
		{"one that does not wait", &Link{}, true, true},
		{"with a limit of its own", &Link{timed: true}, false, false},
	} {
		l := c.l
		l.Reach, l.Server, l.TTL, l.reached, l.out = reach, "it", time.Hour, c.reached, taken
		timeout := 10 * reach
		if c.limited {
			timeout = time.Hour
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), timeout, ErrTimeout)
		_, err := Ask(ctx, l, silence)
		if limited := ctx.Err() == nil; limited != c.limited {
			t.Errorf("%s: limited: %v", c.what, limited)
		}
		cancel()
		if isTimeout := err == ErrTimeout; isTimeout != (c.reached && !c.limited) {
			t.Errorf("%s: %v", c.what, err)
		} else if !isTimeout && err.Error() != "cannot reach it in time: no answer" {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// A wait that ends is a conflict only where somebody is known to have the lock.
func TestUnreachable(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 0, ErrTimeout)
	defer cancel()
	for _, c := range []struct {
		l    *Link
		want string
	}{
		{&Link{reached: true, out: taken}, ErrTimeout.Error()},
		{&Link{reached: true, out: taken, isSilent: true}, "cannot reach it in time: no answer"},
		{&Link{reached: true}, "cannot reach it in time: no answer"}, // it has not said who has the lock
		{&Link{reached: true, out: append(taken, Contender{Mode: Unknown, Why: "nobody knows"})}, "nobody knows"},
	} {
		c.l.Server = "it"
		if err := c.l.Unreachable(ctx); err.Error() != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// One who waits is told once that the server is silent, with the last reason, and when it answers again.
func TestSilence(t *testing.T) {
	t.Parallel()
	var told []string
	back := make(chan struct{})
	l := &Link{TTL: 50 * time.Millisecond, waits: true, reached: true}
	l.silent, l.back = func(why string) { told = append(told, why) },
		func() { told = append(told, "back"); close(back) }
	var n atomic.Int32
	ask := func() {
		Ask(t.Context(), l, func(context.Context, bool) (int, error) {
			if n.Add(1) < 6 {
				return 0, errAgain
			}
			return 0, nil
		})
	}
	ask()
	<-back
	ask()
	if got := strings.Join(told, ", "); got != "not now, back" {
		t.Error(got)
	}
}

func TestUntilSilent(t *testing.T) {
	for _, c := range []struct{ ttl, slowness, silent time.Duration }{
		{10 * time.Second, time.Second, 4 * time.Second}, {5 * time.Second, 0, 2 * time.Second},
		{time.Minute, 0, 4 * time.Second}, {time.Minute, 5 * time.Second, 10 * time.Second},
	} {
		l := &Link{TTL: c.ttl}
		l.slowness.Store(int64(c.slowness))
		if got := l.untilSilent(); got != c.silent {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
