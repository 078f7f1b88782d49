//go:build unix

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc/connectivity"

	"example.org/flock/etcd/internal/guard"
	"example.org/flock/internal/sys"
)

// A store is etcd, as far as one lock goes.
//
// The keys of the lock NAME, whose slashes are escaped, so that no lock lies within another:
//
//	PREFIX/NAME/line/x/LEASE    an exclusive contender, with its lease
//	PREFIX/NAME/line/s/LEASE    a shared one
//	PREFIX/NAME/line/p/LEASE    one for a permit
//	PREFIX/NAME/cooldown        exists during a cooldown, whose lease it has
type store struct {
	config
	name     string // of the lock, for messages
	line     string // prefix of the contenders' keys
	cooldown string // key

	members  []*member
	first    atomic.Int32 // the index of the member to ask first: the one that has answered last
	slowness atomic.Int64 // how long the last answer took
	repeated atomic.Bool  // a request was made more than once
	token    token        // if there is a user
	reached  atomic.Bool  // etcd has answered
	limit    time.Time    // when to give up if no member is connected; zero: never
	patient  atomic.Bool  // the limit counts only until etcd has answered once
	login    singleflight.Group
	waits    chan struct{} // tells that somebody else has the lock

	takenUntil time.Duration // until when that counts as so, on the clock of guard.Now; of one who waits
}

func newStore(c config, name string) *store {
	base := c.prefix + "/" + url.PathEscape(name) + "/"
	s := &store{config: c, name: sys.Printable(name), line: base + "line/", cooldown: base + "cooldown",
		limit: time.Now().Add(c.reach), waits: make(chan struct{}, 1)}
	if c.jwt != "" {
		s.token.Store(&c.jwt)
	}
	for _, endpoint := range c.endpoints {
		s.members = append(s.members, &member{endpoint: endpoint})
	}
	s.first.Store(rand.Int32N(int32(len(s.members)))) // connections to the others would only slow a short run down
	return s
}

// current returns the member that has answered last.
func (s *store) current() *member { return s.members[s.first.Load()] }

// noteTaken takes note that somebody else has the lock, or that its cooldown is not over. That is believed for a while, in
// which it is asked for again.
func (s *store) noteTaken(believed time.Duration) {
	s.takenUntil = guard.Now() + believed
	notify(s.waits)
}

// isLimited reports whether the limit counts, and isLate whether it has passed.
func (s *store) isLimited() bool { return !s.limit.IsZero() && !(s.patient.Load() && s.reached.Load()) }
func (s *store) isLate() bool    { return s.isLimited() && time.Now().After(s.limit) }

// A pace is how long to wait for an answer: until a second member is asked, and from then until the first attempt is given
// up for a third one. So there are never more than two attempts.
type pace struct {
	second, third time.Duration
	patient       bool // a member that answers other questions is left alone, and one that is connected is not given up
}

const forever = time.Duration(1<<63 - 1)

// usualPace is for most questions. A member may be frozen, so it does not wait long; but a slow etcd is not asked twice each
// time.
func (s *store) usualPace() pace {
	second := min(max(250*time.Millisecond, 2*time.Duration(s.slowness.Load())), time.Second)
	return pace{second: second, third: 3 * second}
}

// hurry returns the context of requests for which nobody should have to wait. If the first member is silent, a second one
// has as much time or, where etcd was slow, what is left of a second.
func (s *store) hurry() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), min(2*s.usualPace().second, time.Second))
}

// ask makes a request until a member answers or the context ends. The call must have the same effect however often it is
// made.
func ask[T any](ctx context.Context, s *store, call func(ctx context.Context, c *clientv3.Client) (T, error)) (answer T, err error) {
	return askAt(ctx, s, s.usualPace(), call)
}

// askAt is ask at another pace.
func askAt[T any](ctx context.Context, s *store, p pace, call func(ctx context.Context, c *clientv3.Client) (T, error)) (answer T, err error) {
	for pause, refused := firstPause, false; ; pause, refused = min(2*pause, longestPause), true {
		used, err := s.logIn(ctx)
		if err == nil {
			answer, err = try(ctx, s, p, call)
		}
		if !isBadToken(err) {
			return answer, err
		}
		var refusal *storeError
		switch {
		case s.jwt != "" && errors.As(err, &refusal):
			refusal.hint = " (ETCDCTL_AUTH_JWT_TOKEN is not valid, or not any more: it ends at each change of users and roles)"
			return answer, err
		case s.user == "" && errors.Is(err, rpctypes.ErrUserEmpty) && errors.As(err, &refusal):
			refusal.hint = " (set ETCDCTL_USER and its password)"
			return answer, err
		case used == nil && !errors.Is(err, rpctypes.ErrAuthOldRevision): // of a certificate, whose revision is read each time
			return answer, err
		case refused && s.isLate(): // one token may have been too old
			return answer, err
		}
		s.token.CompareAndSwap(used, nil)
		select {
		case <-time.After(jitter(pause)):
		case <-ctx.Done():
			return answer, s.unreachable()
		}
	}
}

// The pauses after a failed attempt grow, and differ from process to process.
const firstPause, longestPause = 50 * time.Millisecond, time.Second

func jitter(pause time.Duration) time.Duration { return pause/2 + rand.N(pause) }

// A question is put to one member after the other, to at most two at a time, until there is an answer.
type question[T any] struct {
	*store
	pace
	ctx     context.Context
	call    func(ctx context.Context, c *clientv3.Client) (T, error)
	running []*attempt[T] // the oldest first
	ended   chan *attempt[T]
	first   int // the index of the member that is asked first
	asked   int
	next    <-chan time.Time // when to ask another member
	pause   time.Duration    // after an attempt that has failed
}

// An attempt is one request to one member.
type attempt[T any] struct {
	*member
	index  int // of the member
	began  time.Time
	cancel context.CancelFunc
	answer T
	err    error
}

// try asks the members until there is an answer.
func try[T any](ctx context.Context, s *store, p pace, call func(ctx context.Context, c *clientv3.Client) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q := &question[T]{store: s, pace: p, ctx: ctx, call: call, ended: make(chan *attempt[T]), first: int(s.first.Load()),
		pause: firstPause / 2}
	var limit <-chan time.Time
	if s.isLimited() {
		limit = time.After(time.Until(s.limit))
	}
	late := false
	for q.start(); ; {
		select {
		case <-q.next:
			q.askAnother()
		case a := <-q.ended:
			switch {
			case !q.remove(a): // it was given up
				continue
			case q.take(a):
				return a.answer, finalError(a.err)
			}
			if err := s.misconfigured(); err != nil {
				return answer, err
			}
			q.pauseAfter(a)
		case <-limit:
			late = true
		case <-ctx.Done():
			return answer, s.unreachable()
		}
		if late { // A member that is connected is slow, not gone: its answer counts. And each is asked once.
			if q.asked >= len(s.members) {
				q.next = nil
			}
			if !slices.ContainsFunc(q.running, (*attempt[T]).isConnected) {
				return answer, s.unreachable()
			}
		}
	}
}

// start asks the next member.
func (q *question[T]) start() {
	ctx, cancel := context.WithCancel(q.ctx)
	index := (q.first + q.asked) % len(q.members)
	a := &attempt[T]{member: q.members[index], index: index, began: time.Now(), cancel: cancel}
	go q.run(ctx, a)
	q.running = append(q.running, a)
	q.asked++
	d := q.second
	if len(q.running) > 1 {
		d = q.third
	}
	if q.pace.patient {
		q.next = a.silence(ctx, d)
	} else {
		q.next = time.After(d)
	}
}

func (q *question[T]) run(ctx context.Context, a *attempt[T]) {
	var c *clientv3.Client
	if c, a.err = a.connect(q.store); a.err == nil {
		a.answer, a.err = q.call(ctx, c)
	}
	if a.err != nil && !q.reached.Load() && !a.isConnected() {
		a.err = diagnose(ctx, a.endpoint, q.tls, a.err)
	}
	select {
	case q.ended <- a:
	case <-ctx.Done():
	}
}

// askAnother asks another member beside the one that does not answer. Of two, one is given up for it.
func (q *question[T]) askAnother() {
	if len(q.running) == 2 {
		i := 0
		if q.pace.patient {
			i = slices.IndexFunc(q.running, func(a *attempt[T]) bool { return !a.isConnected() })
		}
		if i < 0 { // both may be checking a password
			q.next = nil
			return
		}
		q.running[i].cancel()
		q.remove(q.running[i])
		q.third *= 2
	}
	q.repeated.Store(true)
	q.start()
}

// remove removes an attempt from those that are running, and reports whether it was there.
func (q *question[T]) remove(a *attempt[T]) bool {
	n := len(q.running)
	q.running = slices.DeleteFunc(q.running, func(b *attempt[T]) bool { return a == b })
	return len(q.running) < n
}

// take takes note of what a member has answered, and reports whether that is final.
func (q *question[T]) take(a *attempt[T]) (isFinal bool) {
	if a.note(a.err); a.err != nil && mayTryAgain(a.err) {
		return false
	}
	q.reached.Store(true)
	q.store.first.Store(int32(a.index))
	q.slowness.Store(int64(time.Since(a.began)))
	return true
}

// pauseAfter sets when to ask another member after an attempt that has failed.
func (q *question[T]) pauseAfter(a *attempt[T]) {
	if a.isConnected() {
		q.pause = max(2*q.pause, time.Since(a.began)) // it is busy, perhaps with others who ask at the same time
	} else {
		q.pause = min(2*q.pause, longestPause)
	}
	q.next = time.After(min(jitter(q.pause), q.second))
}

// watch watches keys at a member until the context ends. It also ends when the connection to the member does. The watch of
// the client returns only when the member has answered, for which nobody waits here.
func (m *member) watch(ctx context.Context, key string, options ...clientv3.OpOption) clientv3.WatchChan {
	c := m.client
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	go func() {
		defer cancel()
		if conn := c.ActiveConnection(); conn.GetState() == connectivity.Ready {
			conn.WaitForStateChange(ctx, connectivity.Ready)
		}
	}()
	changes := make(chan clientv3.WatchResponse)
	go func() {
		defer close(changes)
		for r := range c.Watch(ctx, key, options...) {
			select {
			case changes <- r:
			case <-ctx.Done():
				return
			}
		}
	}()
	return changes
}
