//go:build unix

package lease

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var errAgain = &Unanswered{Why: "not now"}

// attempts returns an attempt that has one error after the other, and the last one for ever.
func attempts(n *atomic.Int32, errs ...error) func(context.Context) (int, error) {
	return func(context.Context) (int, error) {
		i := int(n.Add(1))
		return i, errs[min(i, len(errs))-1]
	}
}

func silence(ctx context.Context) (int, error) {
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

// A second kind of attempts begins when the first is silent, and not before.
func TestAskBeside(t *testing.T) {
	t.Parallel()
	l := &Link{Reach: time.Minute}
	var n atomic.Int32
	if answer, err := Ask(t.Context(), l, silence, attempts(&n, nil)); answer != 1 || err != nil {
		t.Errorf("%d, %v", answer, err)
	}
	answer, err := Ask(t.Context(), l, attempts(new(atomic.Int32), nil), attempts(&n, nil))
	if answer != 1 || err != nil || n.Load() != 1 {
		t.Errorf("%d, %v, %d attempts beside", answer, err, n.Load())
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
		l.Reach, l.Server, l.TTL, l.reached, l.isTaken = reach, "it", time.Hour, c.reached, true
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
		{&Link{reached: true, isTaken: true}, ErrTimeout.Error()},
		{&Link{reached: true, isTaken: true, isSilent: true}, "cannot reach it in time: no answer"},
		{&Link{reached: true}, "cannot reach it in time: no answer"}, // it has not said who has the lock
		{&Link{reached: true, unknown: "nobody knows"}, "nobody knows"},
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
		Ask(t.Context(), l, func(ctx context.Context) (int, error) {
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
