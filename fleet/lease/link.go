//go:build unix

package lease

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"example.org/flock/internal/failure"
)

// A Link is the way to a server. A backend makes its requests with Ask, which sets their timeouts and notes how they
// end; so all backends are equally patient:
//
//   - until the server has answered once, a request may take as long as Reach; then one that waits for a lock goes on
//     for as long as it takes, and one that does not wait, lists or breaks gives up when a single answer takes as long
//     as Reach;
//   - the user's own timeout (-w) replaces that;
//   - a server that has not answered a waiter for a few seconds is silent: Ask tells the user once, and again when it
//     answers. For a holder package lease knows that by its Life.
type Link struct {
	// Open sets these.
	Server string        // for messages, such as "etcd at etcd1:2379"
	TTL    time.Duration // for which the backend asks for locks
	Reach  time.Duration // five seconds, unless Open says otherwise

	// Note prints lines for the user, such as a warning.
	Note func(text string)

	waits  bool // beyond the first answer
	timed  bool // a context ends each request
	held   atomic.Bool
	silent func(why string) // the server does not answer
	back   func()           // it answers again
	looked chan struct{}    // has an element when a look has shown that the lock cannot be had yet

	slowness atomic.Int64 // how long the last answer took, in nanoseconds
	repeats  atomic.Int64

	mu       sync.Mutex
	failure  string // of an attempt since the last answer, and a hint as a second line; empty: there was none
	reached  bool   // the server has answered
	isSilent bool
	out      Line // who kept the contender out at the last look
}

// An Unanswered is the error of an attempt that got no answer, or one that may be another the next time. All other
// errors are answers. A second line of Why is a hint.
type Unanswered struct{ Why string }

func (e *Unanswered) Error() string { return e.Why }

// Ask makes a request until the server answers or the timeout is over. An attempt that fails is made again after a
// pause. One that gets no answer is not given up, since a server that is busy may have no other connection: another
// attempt is made beside it, anew, by a connection of its own. That one is given up for the next, because what stands
// behind an address may have led it to a frozen server, too. So there are two at most, and all must have the same
// effect, however often they are made.
//
// If the context ends, the error is that of Unreachable.
func Ask[T any](ctx context.Context, l *Link, attempt func(ctx context.Context, anew bool) (T, error)) (T, error) {
	request, end := context.WithCancel(ctx) // all attempts end with it
	defer end()
	if limit := l.Limit(); limit > 0 {
		request, end = context.WithTimeout(request, limit)
		defer end()
	} else if !l.held.Load() {
		defer time.AfterFunc(l.untilSilent(), l.fallSilent).Stop()
	}
	type result struct {
		of     context.Context
		answer T
		err    error
		took   time.Duration
	}
	results := make(chan result)
	underWay := 0
	var giveUp func() // the latest of them
	begin := func() {
		if underWay == 2 {
			giveUp()
			underWay--
		}
		ctx, cancel := context.WithCancel(request)
		anew, began := underWay > 0, time.Now()
		underWay, giveUp = underWay+1, cancel
		go func() {
			answer, err := attempt(ctx, anew)
			select {
			case results <- result{ctx, answer, err, time.Since(began)}:
			case <-ctx.Done():
			}
		}()
	}
	begin()
	pause, pauses := l.pace(), Backoff{}
	for next := pause; ; {
		select {
		case r := <-results:
			if r.err != nil && r.of.Err() != nil {
				continue // it was given up
			}
			if l.TakeNote(r.err) {
				l.slowness.Store(int64(r.took))
				return r.answer, r.err
			}
			underWay--
			next = pauses.Next(r.took) // the server may be busy with others who ask at the same time
		case <-time.After(next):
			l.repeats.Add(1)
			begin()
			pause = max(pause*3/2, 2*l.Slowness()) // slow is not frozen
			next = pause
		case <-request.Done():
			return result{}.answer, l.Unreachable(request)
		}
	}
}

// A Backoff computes the pauses between attempts. They grow up to a second, and differ between processes.
type Backoff struct{ last time.Duration }

// Next returns the pause after an attempt that took this long.
func (b *Backoff) Next(took time.Duration) time.Duration {
	b.last = min(max(2*b.last, 50*time.Millisecond), time.Second)
	pause := min(max(b.last, took), time.Second)
	return pause/2 + rand.N(pause)
}

// TakeNote notes how an attempt has ended, and reports whether the server has answered. It is for attempts that Ask
// does not make.
func (l *Link) TakeNote(err error) (isAnswer bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if no, ok := err.(*Unanswered); ok {
		l.failure = no.Why
		return false
	}
	l.failure = ""
	if no, ok := err.(*Error); !ok || no.Status != failure.ExUsage { // else this side has refused to connect: see Misused
		l.reached = true
	}
	if l.isSilent {
		l.isSilent = false
		l.back()
	}
	return true
}

// fallSilent tells the user that the server does not answer.
func (l *Link) fallSilent() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isSilent && !l.held.Load() {
		l.isSilent = true
		l.silent(l.why())
	}
}

// Repeats returns how many attempts were not the first of their request. If it has not grown during a request, no
// earlier attempt can have had its effect.
func (l *Link) Repeats() int { return int(l.repeats.Load()) }

// Reached reports whether the server has answered.
func (l *Link) Reached() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reached
}

// Limit returns the timeout of a request now; 0: that of its context.
func (l *Link) Limit() time.Duration {
	if l.timed || l.held.Load() || l.waits && l.Reached() {
		return 0
	}
	return l.Reach
}

// ToConnect is how long a connection may take before a server counts as silent.
const ToConnect = 1250 * time.Millisecond

// pace is how long Ask waits for an answer before it begins another attempt. A server may be frozen, so it is short;
// but a connection takes a while, and a slow server should not be asked twice each time.
func (l *Link) pace() time.Duration {
	slowness := l.Slowness()
	if slowness == 0 {
		return ToConnect
	}
	return min(max(250*time.Millisecond, 2*slowness), ToConnect)
}

// Slowness is how long the last answer took.
func (l *Link) Slowness() time.Duration { return time.Duration(l.slowness.Load()) }

// untilSilent is how long a waiter waits for an answer before the server counts as silent. Slow is not silent.
func (l *Link) untilSilent() time.Duration {
	return max(min(l.TTL*4/10, 4*time.Second), 2*l.Slowness())
}

// Why says why there is no answer, with a hint as a second line if there is one.
func (l *Link) Why() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why()
}

func (l *Link) why() string {
	if l.failure == "" {
		return "no answer"
	}
	return l.failure
}

// KeptOut notes who keeps the contender out.
func (l *Link) KeptOut(out Line) {
	l.see(out)
	select {
	case l.looked <- struct{}{}:
	default: // that is known, and not yet dealt with
	}
}

// see replaces what is known of the lock.
func (l *Link) see(out Line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out = out
}

// whyUnknown returns why the last look could not tell who has the lock; empty: it could.
func (l *Link) whyUnknown() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.unknown()
}

// Unreachable returns the error for a context that ended before the lock was acquired. It is ErrTimeout only if the
// server answers, and has said that somebody else has the lock. Otherwise, with -E 0, a job that nobody runs would look
// like one that another machine runs.
func (l *Link) Unreachable(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	isAnswered := context.Cause(ctx) == ErrTimeout && l.reached && !l.isSilent
	switch why := l.out.unknown(); {
	case isAnswered && why != "":
		return Unavailable(why)
	case isAnswered && len(l.out) > 0:
		return ErrTimeout
	}
	return Unavailable("cannot reach " + l.Server + " in time: " + l.why())
}
