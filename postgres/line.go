package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"example.org/flock/lease"
)

// A contender asks for a lock, or has it. It stands for a row, which has its places in the line: see lease.Line.
type contender struct {
	*store
	lease.Request
	key     string      // of its row
	isIn    bool        // its row was there
	mayBeIn atomic.Bool // its row may be there
	token   int64       // 0: none
	life    atomic.Pointer[life]
}

// A life says until when a row lives.
type life struct{ since, ttl time.Duration }

// Acquire implements lease.Backend.
func (s *store) Acquire(ctx context.Context, r lease.Request) (lease.Held, error) {
	for lost := 1; ; lost++ {
		c := &contender{store: s, Request: r, key: randomKey()}
		err := c.enter(ctx)
		if err == nil {
			return c, nil
		}
		c.leave()
		if err != lease.ErrLost {
			return nil, err
		}
		if lost == 3 { // each time the server was silent for longer than a row lives
			tooSlow := fmt.Sprintf("%s answers too slowly for a TTL of %v", s.link.Server, time.Duration(s.ttl.Load()))
			if r.Nonblock {
				return nil, lease.Unavailable(tooSlow)
			}
			s.link.Note(tooSlow)
		}
	}
}

// randomKey returns a key that no other row has, ever.
func randomKey() string {
	var b [16]byte
	rand.Read(b[:])
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// enter waits for the lock. No write is needed to say no, so it looks first.
func (c *contender) enter(ctx context.Context) error {
	v, _, err := c.look(ctx)
	if err == nil && v.refusal(c.Request) == lease.ErrTaken {
		return lease.ErrTaken
	}
	for err == nil {
		var s standing
		if s, err = c.change(ctx); err != nil {
			return err
		}
		if s.entitled {
			if since, ttl := c.Life(); lease.Now() < since+ttl*3/10 {
				return nil
			}
			return c.Renew(ctx)
		}
		err = c.await(ctx)
	}
	return err
}

// look returns what there is of the lock, and whether the server has connections to spare. It needs no lock, and writes
// nothing.
func (c *contender) look(ctx context.Context) (v view, hasSpare bool, err error) {
	results, err := c.query(ctx, func() string { return c.read(is(c.Name), ofTheLiving) + spare })
	if err == nil {
		v, err = readView(c.key, results[0].Rows)
	}
	if err != nil {
		return v, false, err
	}
	c.ttl.Store(int64(v.ttl))
	return v, row(results[1].Rows[0]).isTrue(0), nil
}

// change gives the contender a row if it has none, renews that, takes for it the places in the line to which it is
// entitled now, and the lock if that is one of them. A newcomer may be refused.
//
// It takes two messages, because the second one depends on what the first one has read.
func (c *contender) change(ctx context.Context) (standing, error) {
	type answer struct {
		standing
		life  life
		token int64
	}
	a, err := ask(ctx, c.store, func(ctx context.Context, w *session) (a answer, err error) {
		results, err := w.run(ctx, c.begin(c.Name)+renewal(c.key)+judge(c.Name)+c.read(is(c.Name), ""))
		if err != nil {
			return a, err
		}
		v, err := readView(c.key, results[ofRead].Rows)
		if err == nil && v.own == nil {
			err = v.refusal(c.Request)
			if c.isIn {
				err = lease.ErrLost
			}
		}
		if err != nil {
			// What it has found out about the server counts.
			if _, unsure := w.commit(ctx, "", ""); unsure != nil {
				err = unsure
			}
			return a, err
		}
		a.standing, a.life = v.stand(c.Request), life{lease.Now(), v.ttl}
		c.mayBeIn.Store(true)
		token := ""
		if a.entitled && c.Mode == lease.Exclusive {
			token = nextToken(c.Name)
		}
		if results, err = w.commit(ctx, c.row(a.standing, v.ttl)+token, ""); err == nil && token != "" {
			a.token = row(results[1].Rows[0]).int(0)
		}
		return a, err
	})
	if err == nil {
		c.isIn, c.token = true, a.token
		c.prolong(a.life)
	}
	return a.standing, err
}

// row returns the statement that writes the contender's row.
func (c *contender) row(s standing, ttl time.Duration) string {
	orNull := func(n int64) string {
		if n == 0 {
			return "NULL"
		}
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf(`WITH s AS MATERIALIZED (SELECT clock_timestamp() AS now, epoch FROM flock.server)
INSERT INTO flock.contender AS c (key, name, cooling, seq, mode, permits, cooldown,
		came, taken, renewed, expires, epoch, host, pid, username)
	SELECT '%s', %s, %s::bigint, %s::bigint, '%s', %d, make_interval(secs => %f),
		s.now, CASE WHEN %t THEN s.now END, s.now, s.now + make_interval(secs => %f), s.epoch, '%s', %d, '%s' FROM s
	ON CONFLICT (key) DO UPDATE SET seq = excluded.seq, taken = coalesce(c.taken, excluded.taken),
		renewed = excluded.renewed, expires = excluded.expires, epoch = excluded.epoch;
`, c.key, nameLiteral(c.Name), orNull(s.cooling), orNull(s.seq), c.Mode, c.Permits, c.Cooldown.Seconds(), s.entitled,
		ttl.Seconds(), plain(hostname()), os.Getpid(), plain(username()))
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
		results, err := w.commit(ctx, c.begin(c.Name)+renewal(c.key), "")
		switch {
		case err != nil:
			return l, err
		case len(results[ofFirst].Rows) == 0:
			return l, lease.ErrLost
		}
		l.ttl = time.Duration(row(results[ofFirst].Rows[0]).int(0)) * time.Second
		return l, nil
	})
	if err == nil {
		c.prolong(l)
	}
	return err
}

// Release implements lease.Held.
func (c *contender) Release(ctx context.Context, command lease.Fate) error {
	if command != lease.Ended {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Second)
		defer cancel()
	}
	cools := ""
	if since, _ := c.Life(); c.Cooldown > 0 && command != lease.NotStarted {
		if command == lease.Ended {
			since = lease.Now()
		}
		cools = coolDown(c.Name, c.Cooldown-(lease.Now()-since))
	}
	before := c.link.Repeats()
	deleted, err := c.remove(ctx, c.Name, c.key, cools)
	if err == nil && !deleted && c.link.Repeats() == before { // else an earlier attempt may have done it
		err = lease.ErrLost
	}
	c.disconnect()
	return err
}

// leave gives up all that was asked for. Nobody should have to wait for that.
func (c *contender) leave() {
	if c.mayBeIn.Load() {
		c.Release(context.Background(), lease.NotStarted)
	}
}
