//go:build unix

package lease

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// A Link is the way to a server. A backend makes its requests with Ask, which sets their timeouts and notes how they
// end; so all backends are equally patient:
//
//   - until the server has answered once, a request may take as long as Reach; then one that waits for a lock goes on
//     for as long as it takes, and one that does not wait, lists or breaks gives up when a single answer takes as long
//     as Reach;
//   - the user's own timeout (-w) replaces that;
//   - a server that has not answered a waiter for a few seconds is silent: Ask tells the user once, and again when it
//     answers. For a holder package lease knows that by Held.Life.
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
	looked func()           // a look has shown that the lock cannot be had yet; nil: nobody wants to know

	slowness atomic.Int64 // how long the last answer took, in nanoseconds
	repeats  atomic.Int64

	mu       sync.Mutex
	failure  string // of an attempt since the last answer, and a hint as a second line; empty: there was none
	reached  bool   // the server has answered
	isSilent bool
	isTaken  bool   // somebody else had the lock at the last look
	unknown  string // why nobody could tell who has it then; empty: that was known
}

// An Unanswered is the error of an attempt that got no answer, or one that may be another the next time. All other errors
// are answers. A second line of Why is a hint.
type Unanswered struct{ Why string }

func (e *Unanswered) Error() string { return e.Why }

// Ask makes a request until the server answers or the timeout is over. It makes attempts, with pauses. If there are two
// kinds of attempts, those of the second kind begin beside the first when those get no answer. All must have the same
// effect, however often they are made.
//
// If the context ends, the error is that of Unreachable.
func Ask[T any](ctx context.Context, l *Link, attempts ...func(context.Context) (T, error)) (T, error) {
	request, end := context.WithCancel(ctx) // all attempts end with it
	defer end()
	if limit := l.Limit(); limit > 0 {
		request, end = context.WithTimeout(request, limit)
		defer end()
	} else if !l.held.Load() {
		defer time.AfterFunc(l.untilSilent(), l.fallSilent).Stop()
	}
	type result struct {
		answer T
		err    error
	}
	results := make(chan result, len(attempts))
	repeat := func(attempt func(context.Context) (T, error), pause time.Duration) {
		var pauses Backoff
		for sleep(request, pause) {
			if pause > 0 { // it is not the first attempt of the first kind
				l.repeats.Add(1)
			}
			began := time.Now()
			answer, err := attempt(request)
			switch isInterrupted := err != nil && request.Err() != nil; {
			case isInterrupted:
				return
			case l.TakeNote(err):
				l.slowness.Store(int64(time.Since(began)))
				results <- result{answer, err}
				return
			}
			pause = pauses.Next(time.Since(began)) // the server may be busy with others who ask at the same time
		}
	}
	for i, attempt := range attempts {
		go repeat(attempt, time.Duration(i)*l.Pace()) // the first kind at once, the second after a Pace
	}
	select {
	case r := <-results:
		return r.answer, r.err
	case <-request.Done():
		return result{}.answer, l.Unreachable(request)
	}
}

// sleep reports whether the context has not ended meanwhile.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
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
	l.failure, l.reached = "", true
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

// Pace is how long Ask waits for an answer before it begins attempts of the second kind. A server may be frozen, so it
// is short; but a connection takes a while, and a slow server should not be asked twice each time.
func (l *Link) Pace() time.Duration {
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

// Taken notes that the last look has shown that somebody else has the lock.
func (l *Link) Taken() { l.noteLook(true, "") }

// Unknown notes that the last look could not tell who has the lock: there is an Unknown place in the line.
func (l *Link) Unknown(why string) { l.noteLook(false, why) }

func (l *Link) noteLook(isTaken bool, unknown string) {
	if l.see(isTaken, unknown); l.looked != nil {
		l.looked()
	}
}

// see replaces what is known of the lock.
func (l *Link) see(isTaken bool, unknown string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isTaken, l.unknown = isTaken, unknown
}

// whyUnknown returns why the last look could not tell who has the lock; empty: it could.
func (l *Link) whyUnknown() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unknown
}

// Unreachable returns the error for a context that ended before the lock was acquired. It is ErrTimeout only if the
// server answers, and has said that somebody else has the lock. Otherwise, with -E 0, a job that nobody runs would look
// like one that another machine runs.
func (l *Link) Unreachable(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	isAnswered := context.Cause(ctx) == ErrTimeout && l.reached && !l.isSilent
	switch {
	case isAnswered && l.unknown != "":
		return Unavailable(l.unknown)
	case isAnswered && l.isTaken:
		return ErrTimeout
	}
	return Unavailable("cannot reach " + l.Server + " in time: " + l.why())
}
