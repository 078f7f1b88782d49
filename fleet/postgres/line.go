package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"time"

	"example.org/flock/fleet/lease"
)

// A contender asks for a lock, or has it. It stands for a row, which has its places in the line: see lease.Line.
type contender struct {
	*store
	lease.Claim
	key     string        // of its row
	isIn    atomic.Bool   // its row was there
	mayBeIn atomic.Bool   // its row may be there
	token   int64         // 0: none
	started time.Duration // when it got the lock
	life    atomic.Pointer[life]
}

// A life says until when a row lives.
type life struct{ since, ttl time.Duration }

// Acquire implements lease.Backend.
func (s *store) Acquire(ctx context.Context, claim lease.Claim) (lease.Held, error) {
	c := &contender{store: s, Claim: claim, key: randomKey()}
	if err := c.enter(ctx); err != nil {
		c.leave()
		return nil, err
	}
	return c, nil
}

// randomKey returns a key that no other row has, ever.
func randomKey() string {
	var b [16]byte
	rand.Read(b[:])
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// enter waits for the lock. No write is needed to say no, so it looks first.
func (c *contender) enter(ctx context.Context) error {
	v, err := c.look(ctx)
	switch line := v.before(math.MaxInt64); {
	case err != nil:
		return err
	case c.Refused(line):
		return lease.ErrTaken
	case c.Waits(line):
		c.noteWhy(v)
	}
	for {
		if isEntitled, err := c.change(ctx); err != nil || isEntitled {
			return err
		}
		if err := c.await(ctx); err != nil {
			return err
		}
	}
}

// noteWhy notes why the contender does not have the lock yet.
func (c *contender) noteWhy(v view) {
	if why := v.unknown(); why != "" {
		c.link.Unknown(why)
	} else {
		c.link.Taken()
	}
}

// look returns what there is of the lock. It needs no lock of a row, and writes nothing but, if it is time for that,
// the renewal of the contender's own row, which nobody waits for.
func (c *contender) look(ctx context.Context) (view, error) {
	type answer struct {
		view
		isRenewed bool
		since     time.Duration // before it was sent
	}
	a, err := ask(ctx, c.store, func(ctx context.Context, w *session) (a answer, err error) {
		a.since = lease.Now()
		renews := c.isIn.Load() && c.renewsAt() <= a.since
		m := c.beginLook()
		var renewed int
		if renews {
			m = append(message{begin}, m...)
			renewed = m.add(renewal(c.key))
			m.add(commit)
			m = append(m, c.beginLook()...)
		}
		line, connections := m.add(readLiving(is(c.Name))), m.add(use)
		results, err := w.send(ctx, m)
		if err != nil {
			return a, err
		}
		a.isRenewed = renews && len(results[renewed].Rows) > 0
		a.view, err = readView(c.key, results[line].Rows)
		a.quarters = row(results[connections].Rows[0]).int(0)
		return a, err
	})
	if err == nil {
		c.ttl.Store(int64(a.view.ttl))
	}
	if err == nil && a.isRenewed {
		c.prolong(life{a.since, a.view.ttl})
	}
	return a.view, err
}

// renewsAt returns when the row of one that waits is to be renewed.
func (c *contender) renewsAt() time.Duration {
	since, ttl := c.Life()
	return since + ttl*4/10
}

// change gives the contender a row if it has none, renews that, takes for it the places in the line to which it is
// entitled now, and reports whether one of them is the lock. A newcomer may be refused.
//
// It takes two messages, because the second one depends on what the first one has read.
func (c *contender) change(ctx context.Context) (isEntitled bool, err error) {
	type answer struct {
		standing
		life  life
		token int64
	}
	a, err := ask(ctx, c.store, func(ctx context.Context, w *session) (a answer, err error) {
		v, err := c.judgeLine(ctx, w)
		if err != nil {
			return a, err
		}
		a.standing, a.life = v.standingFor(c.Claim), life{lease.Now(), v.ttl}
		c.mayBeIn.Store(true)
		m := message{c.row(a.standing, v.ttl)}
		if a.isEntitled {
			m.add(takeLock(c.key))
		}
		results, err := w.commit(ctx, m, nil)
		if err == nil && a.isEntitled {
			a.token = row(results[1].Rows[0]).int(0)
		}
		return a, err
	})
	if err == nil {
		c.isIn.Store(true)
		c.token, c.started = a.token, a.life.since
		c.prolong(a.life)
	}
	return a.isEntitled, err
}

// judgeLine is the first message of a change. If there is an error, that was the change: lease.ErrLost if the
// contender's row is gone, or lease.ErrTaken if it is a newcomer that is refused.
func (c *contender) judgeLine(ctx context.Context, w *session) (v view, err error) {
	m := c.beginChange(c.Name)
	m.add(renewal(c.key))
	m.add(judge(c.Name))
	line := m.add(read(is(c.Name)))
	results, err := w.send(ctx, m)
	if err != nil {
		return v, err
	}
	v, err = readView(c.key, results[line].Rows)
	switch isMissing := v.own == nil; {
	case err != nil:
	case isMissing && c.isIn.Load():
		err = lease.ErrLost
	case isMissing && c.Refused(v.before(math.MaxInt64)):
		err = lease.ErrTaken
	default:
		return v, nil
	}
	// What it has found out about the server counts.
	if _, unsure := w.commit(ctx, nil, nil); unsure != nil {
		err = unsure
	}
	return v, err
}

// cooldownFrom has the words in the tables.
var cooldownFrom = map[lease.CooldownFrom]string{
	lease.FromStart: "start", lease.FromEnd: "end", lease.FromSuccess: "success",
}

// row returns the statement that writes the contender's row.
func (c *contender) row(s standing, ttl time.Duration) string {
	return fmt.Sprintf(`WITH %s
INSERT INTO flock.contender AS c (key, name, cooling, seq, mode, permits, cooldown, cools_from,
		came, taken, renewed, expires, epoch, host, pid, username)
	SELECT '%s', %s, nullif(%d, 0)::bigint, nullif(%d, 0)::bigint, '%s', %d, make_interval(secs => %f), '%s',
		s.now, CASE WHEN %t THEN s.now END, s.now, s.now + make_interval(secs => %f), s.epoch, '%s', %d, '%s' FROM s
	ON CONFLICT (key) DO UPDATE SET seq = excluded.seq, renewed = excluded.renewed, expires = excluded.expires,
		epoch = excluded.epoch, taken = CASE WHEN excluded.taken IS NOT NULL THEN coalesce(c.taken, excluded.taken) END`,
		theServer, c.key, nameLiteral(c.Name), s.cooling, s.seq, c.Mode, c.Permits,
		c.Cooldown.Seconds(), cooldownFrom[c.From], s.isEntitled, ttl.Seconds(),
		plain(hostname()), os.Getpid(), plain(username()))
}

// prolong takes note of a life, unless a later one is known.
func (c *contender) prolong(l life) {
	for {
		old := c.life.Load()
		if old != nil && old.since >= l.since || c.life.CompareAndSwap(old, &l) {
			return
		}
	}
}

// Life implements lease.Held.
func (c *contender) Life() (since, ttl time.Duration) {
	if l := c.life.Load(); l != nil {
		return l.since, l.ttl
	}
	return 0, 0
}

// Token implements lease.Held.
func (c *contender) Token() int64 { return c.token }

// Lost implements lease.Held: the server says nothing by itself.
func (c *contender) Lost() <-chan struct{} { return nil }

// Renew implements lease.Held.
func (c *contender) Renew(ctx context.Context) error {
	l, err := ask(ctx, c.store, func(ctx context.Context, w *session) (l life, err error) {
		l.since = lease.Now()
		m := c.beginRenewal()
		renewed := m.add(renewal(c.key))
		results, err := w.commit(ctx, m, nil)
		switch {
		case err != nil:
			return l, err
		case len(results[renewed].Rows) == 0:
			return l, lease.ErrLost
		}
		l.ttl = time.Duration(row(results[renewed].Rows[0]).int(0)) * time.Second
		return l, nil
	})
	if err == nil {
		c.prolong(l)
	}
	return err
}

// Release implements lease.Held.
func (c *contender) Release(ctx context.Context, end lease.End) error {
	if end.Fate == lease.NotStarted || end.Fate == lease.Killed {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Second)
		defer cancel()
	}
	var ended, cools message
	if end.Fate != lease.Killed {
		ended.add(endRun(c.key, end))
	}
	if long := c.coolsFor(end.Fate); long > 0 {
		cools.add(coolDown(c.Name, long))
	}
	before := c.link.Repeats()
	deleted, err := c.remove(ctx, c.Name, c.key, ended, cools)
	if err == nil && !deleted && c.link.Repeats() == before { // else an earlier attempt may have done it
		err = lease.ErrLost
	}
	c.disconnect()
	return err
}

// coolsFor returns how long the cooldown lasts from now on; 0 or less: there is none.
func (c *contender) coolsFor(command lease.Fate) time.Duration {
	if c.Cooldown == 0 || command == lease.NotStarted || command == lease.Failed {
		return 0
	}
	began, _ := c.Life()
	switch {
	case c.From == lease.FromStart:
		began = c.started
	case command == lease.Ended:
		began = lease.Now()
	case c.From == lease.FromSuccess:
		return 0
	}
	return began + c.Cooldown - lease.Now()
}

// leave gives up all that was asked for. Nobody should have to wait for that.
func (c *contender) leave() {
	if c.mayBeIn.Load() {
		c.Release(context.Background(), lease.End{})
	}
}
