package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"example.org/flock/fleet/lease"
)

// A contender asks for a lock, or has it. It stands for a row, which has its places in the line: see lease.Line.
type contender struct {
	*store
	lease.Claim
	key      string      // of its row
	isIn     atomic.Bool // its row was there
	mayBeIn  atomic.Bool // its row may be there
	token    int64       // 0: none
	quarters int64       // see view
	standing
}

// Contend implements lease.Backend.
func (s *store) Contend(claim lease.Claim) lease.Lock {
	return &contender{store: s, Claim: claim, key: randomKey()}
}

// randomKey returns a key that no other row has, ever.
func randomKey() string {
	var b [16]byte
	rand.Read(b[:])
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Step implements lease.Lock. No write is needed to say no, so it looks first.
func (c *contender) Step(ctx context.Context, renews bool) (out lease.Line, life lease.Life, err error) {
	isIn, own := c.isIn.Load(), message(nil)
	if renews && isIn {
		own = append(append(message{begin}, c.prepareLook()...), renewal(c.key), commit)
	}
	v, err := c.look(ctx, append(own, beginLook), c.key, is(c.Name))
	switch line := v.before(math.MaxInt64); {
	case err != nil:
		return nil, life, err
	case !isIn && c.Refused(line):
		return nil, life, lease.ErrTaken
	case !isIn && c.Waits(line):
		c.link.KeptOut(line)
	case isIn && v.own == nil:
		return nil, life, lease.ErrLost
	}
	c.standing, c.quarters = v.standingFor(c.Claim), v.quarters
	if isIn && v.IsTheServer && v.own.IsOfServer && len(c.out) > 0 && c.seq == v.own.Seq {
		return c.out, v.life, nil // a change would change nothing
	}
	life, err = c.change(ctx)
	return c.out, life, err
}

// look returns what there is of a lock, or of those that a condition names, for the contender with a key. It needs no
// lock of a row, and writes nothing but, if the contender sends that before it begins, the renewal of its own row, which
// nobody waits for.
func (s *store) look(ctx context.Context, before message, key, which string) (view, error) {
	return ask(ctx, s, func(ctx context.Context, w *session) (view, error) {
		since, m := lease.Now(), append(before[:len(before):len(before)], s.prepareLook()...)
		line, last, connections := m.add(read(which, lives)), m.add(readLast(which)), m.add(use)
		m.add(commit)
		results, err := w.send(ctx, m)
		if err != nil {
			return view{}, err
		}
		v, err := readView(key, results[line])
		if err != nil {
			return v, err
		}
		s.ttl.Store(int64(v.TTL.duration()))
		if at := len(before) - 3; at > 0 && len(results[at].Rows) > 0 { // before COMMIT, and the BEGIN of the look
			v.life = lease.Life{Since: since, TTL: v.TTL.duration()}
		}
		v.quarters = number(results[connections])
		v.last, err = decode[*lease.LastRun](results[last])
		return v, err
	})
}

// change gives the contender a row if it has none, renews that, and takes for it the places in the line to which it is
// entitled now, the lock perhaps. A newcomer may be refused.
//
// It takes two messages, because the second one depends on what the first one has read.
func (c *contender) change(ctx context.Context) (lease.Life, error) {
	v, err := ask(ctx, c.store, func(ctx context.Context, w *session) (view, error) {
		v, err := c.judgeLine(ctx, w)
		if err != nil {
			return v, err
		}
		s := v.standingFor(c.Claim)
		v.life = lease.Life{Since: lease.Now(), TTL: v.TTL.duration()}
		c.mayBeIn.Store(true)
		m := message{c.row(s, v.TTL)}
		if len(s.out) == 0 {
			m.add(takeLock(c.key))
		}
		results, err := w.commit(ctx, m, nil)
		if err == nil && len(s.out) == 0 {
			v.token = number(results[1])
		}
		return v, err
	})
	if err == nil {
		c.isIn.Store(true)
		c.standing, c.token = v.standingFor(c.Claim), v.token
	}
	return v.life, err
}

// judgeLine is the first message of a change. If there is an error, that was the change: lease.ErrLost if the
// contender's row is gone, or lease.ErrTaken if it is a newcomer that is refused.
func (c *contender) judgeLine(ctx context.Context, w *session) (v view, err error) {
	m := c.beginChange(c.Name)
	m.add(renewal(c.key))
	m.add(judge(c.Name))
	line := m.add(read(is(c.Name), thereIs))
	results, err := w.send(ctx, m)
	if err != nil {
		return v, err
	}
	v, err = readView(c.key, results[line])
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
func (c *contender) row(s standing, ttl seconds) string {
	self := lease.Self()
	return fmt.Sprintf(`WITH %s
INSERT INTO flock.contender AS c (key, name, cooling, seq, mode, permits, cooldown, cools_from,
		came, taken, renewed, expires, epoch, host, pid, username)
	SELECT '%s', %s, nullif(%d, 0)::bigint, nullif(%d, 0)::bigint, '%s', %d, make_interval(secs => %f), '%s',
		s.now, CASE WHEN %t THEN s.now END, s.now, s.now + make_interval(secs => %f), s.epoch, '%s', %d, '%s' FROM s
	ON CONFLICT (key) DO UPDATE SET seq = excluded.seq, renewed = excluded.renewed, expires = excluded.expires,
		epoch = excluded.epoch, taken = CASE WHEN excluded.taken IS NOT NULL THEN coalesce(c.taken, excluded.taken) END`,
		theServer, c.key, nameLiteral(c.Name), s.cooling, s.seq, c.Mode, c.Permits,
		c.Cooldown.Seconds(), cooldownFrom[c.From], len(s.out) == 0, ttl,
		plain(self.Host), self.PID, plain(self.User))
}

// Token implements lease.Lock.
func (c *contender) Token() int64 { return c.token }

// Lost implements lease.Lock: the server says nothing by itself.
func (c *contender) Lost() <-chan struct{} { return nil }

// Renew implements lease.Lock.
func (c *contender) Renew(ctx context.Context) (lease.Life, error) {
	return ask(ctx, c.store, func(ctx context.Context, w *session) (l lease.Life, err error) {
		l.Since = lease.Now()
		m := c.beginRenewal()
		renewed := m.add(renewal(c.key))
		results, err := w.commit(ctx, m, nil)
		switch {
		case err != nil:
			return l, err
		case len(results[renewed].Rows) == 0:
			return l, lease.ErrLost
		}
		l.TTL = time.Duration(number(results[renewed])) * time.Second
		return l, nil
	})
}

// Release implements lease.Lock.
func (c *contender) Release(ctx context.Context, end lease.End) error {
	if !c.mayBeIn.Load() {
		return nil
	}
	var ended, cools message
	if end.Fate != lease.Killed {
		ended.add(endRun(c.key, end))
	}
	if end.Cools > 0 {
		cools.add(coolDown(c.Name, end.Cools))
	}
	before := c.link.Repeats()
	deleted, err := c.remove(ctx, c.Name, c.key, ended, cools)
	if err == nil && !deleted && c.link.Repeats() == before { // else an earlier attempt may have done it
		err = lease.ErrLost
	}
	c.disconnect()
	return err
}
