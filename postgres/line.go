package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"slices"
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
	token   int64
	life    atomic.Pointer[life]
}

// A life says until when a row lives.
type life struct{ since, ttl time.Duration }

// A place is one in a line. The order is that of the changes by which the places were taken.
type place struct {
	order int64
	lease.Contender
}

// A view is what was read about a lock.
type view struct {
	ttl       time.Duration
	change    int64         // the number of the last change, or of the one in which this was read
	quiet     time.Duration // how long nobody gets a lock, because the server is not known
	isAnother bool          // this server is not that of the server's row: the next change notes that
	cools     time.Duration // how long the cooldown lasts
	places    []place       // in order
	own       *row          // of the contender who has asked; nil: there is none
}

// schemaVersion is that of the tables.
const schemaVersion = 1

// readView reads the answer to read.
func readView(key string, rows [][][]byte) (v view, err error) {
	if len(rows) == 0 {
		return v, lease.Refused("the table flock.server is empty: drop the schema flock, and make it anew as flock-postgres --schema says")
	}
	first := row(rows[0])
	if first.int(ofVersion) != schemaVersion {
		return v, lease.Refused(fmt.Sprintf("the tables have version %d, and this program needs %d: see flock-postgres --schema", first.int(ofVersion), schemaVersion))
	}
	if first.isTrue(ofIsReplica) {
		return v, errReplica
	}
	v = view{ttl: time.Duration(first.int(ofTTL)) * time.Second, quiet: first.duration(ofQuiet), change: first.int(ofChange), cools: first.duration(ofCools)}
	if v.isAnother = first.isTrue(ofIsAnother); v.isAnother {
		v.quiet = v.ttl // it begins with the first change
	}
	if v.quiet > 0 {
		// Somebody may have the lock by a server that was before this one. Its place is before all others.
		v.places = append(v.places, place{-2, lease.Contender{Mode: lease.Exclusive, ID: "unknown"}})
	}
	for _, r := range rows {
		if r := row(r); !r.isNull(ofKey) {
			if r.text(ofKey) == key {
				v.own = &r
			}
			v.places = append(v.places, placesOf(r)...)
		}
	}
	if v.cools > 0 {
		v.places = append(v.places, place{-1, lease.Contender{Mode: lease.Cooldown, Until: time.Now().Add(v.cools)}})
	}
	slices.SortStableFunc(v.places, func(a, b place) int { return int(a.order - b.order) })
	return v, nil
}

// placesOf returns the places of a row: one for the cooldown if it respects that, and one for the lock if it has got there.
func placesOf(r row) (list []place) {
	name := nameOf(r)
	c := lease.Contender{Lock: name, Mode: lease.Mode(r.text(ofMode)), Permits: int(r.int(ofPermits)), ID: r.text(ofKey), Since: time.UnixMicro(r.int(ofSince)),
		Key: name + "/" + r.text(ofKey), Host: r.text(ofHost), PID: int(r.int(ofPID)), User: r.text(ofUser)}
	if !r.isNull(ofCooling) {
		first := c
		first.Mode = lease.Cooldown
		list = append(list, place{r.int(ofCooling), first})
	}
	if !r.isNull(ofSeq) {
		list = append(list, place{r.int(ofSeq), c})
	}
	return list
}

func nameOf(r row) string {
	name, _ := hex.DecodeString(r.text(ofName))
	return string(name)
}

// before returns the line before a place.
func (v *view) before(order int64) (line lease.Line) {
	for _, p := range v.places {
		if p.order < order {
			line = append(line, p.Contender)
		}
	}
	return line
}

// A standing is where a contender stands, or may stand now.
type standing struct {
	cooling  int64 // its place in the line of those who respect the cooldown; 0: none
	seq      int64 // its place in the line for the lock; 0: none yet, because of the cooldown
	entitled bool
	waiting  int // how many places there are before it
}

// stand returns where a contender stands who has a row, or comes now.
func (v *view) stand(r lease.Request) (s standing) {
	if v.own != nil {
		s.cooling, s.seq = v.own.int(ofCooling), v.own.int(ofSeq)
	} else if r.Cooldown > 0 {
		s.cooling = v.change
	}
	if s.cooling > 0 && len(v.before(s.cooling).KeepOut(lease.Contender{Mode: lease.Cooldown})) > 0 {
		s.waiting = len(v.before(s.cooling))
		return s
	}
	if s.seq == 0 {
		s.seq = v.change
	}
	before := v.before(s.seq)
	s.waiting = len(before)
	s.entitled = len(before.KeepOut(lease.Contender{Mode: r.Mode, Permits: r.Permits})) == 0
	return s
}

// refusal returns why a newcomer is refused; nil: it is not.
func (v *view) refusal(r lease.Request) error {
	line := v.before(math.MaxInt64)
	switch {
	case !r.Refused(line):
		return nil
	case v.quiet > 0 && !r.Refused(line[1:]):
		return lease.Unavailable(unknownHolders(v.quiet))
	}
	return lease.ErrTaken
}

// unknownHolders says that nobody gets a lock for so long.
func unknownHolders(quiet time.Duration) string {
	return fmt.Sprintf("PostgreSQL was started or replaced a moment ago: who has a lock by the server of before is unknown for %.1f s", quiet.Seconds())
}

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

// look returns what there is of the lock, and whether the server has connections to spare. It needs no lock, and writes nothing.
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

// change gives the contender a row if it has none, renews that, takes for it the places in the line to which it is entitled
// now, and the lock if that is one of them. A newcomer may be refused.
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
		if results, err = w.commit(ctx, c.row(a.standing, v.ttl)+nextToken(c.Name), ""); err == nil {
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
INSERT INTO flock.contender AS c (key, name, cooling, seq, mode, permits, cooldown, came, taken, renewed, expires, epoch, host, pid, username)
	SELECT '%s', %s, %s::bigint, %s::bigint, '%s', %d, make_interval(secs => %f), s.now, CASE WHEN %t THEN s.now END, s.now,
		s.now + make_interval(secs => %f), s.epoch, '%s', %d, '%s' FROM s
	ON CONFLICT (key) DO UPDATE SET seq = excluded.seq, taken = coalesce(c.taken, excluded.taken),
		renewed = excluded.renewed, expires = excluded.expires, epoch = excluded.epoch;
`, c.key, nameLiteral(c.Name), orNull(s.cooling), orNull(s.seq), c.Mode, c.Permits, c.Cooldown.Seconds(), s.entitled,
		ttl.Seconds(), plain(hostname()), os.Getpid(), plain(username()))
}

// await waits until there may be a change for the contender, or its row has to be renewed.
func (c *contender) await(ctx context.Context) error {
	for {
		v, hasSpare, err := c.look(ctx)
		since, ttl := c.Life()
		switch {
		case err != nil:
			return err
		case v.own == nil:
			return lease.ErrLost
		case lease.Now() > since+ttl*3/10, v.isAnother:
			return nil
		}
		s := v.stand(c.Request)
		if s.entitled || s.seq != v.own.int(ofSeq) {
			return nil
		}
		c.Taken()
		pause := time.Second
		for _, until := range []time.Duration{v.quiet, v.cools} {
			if until > 0 {
				pause = min(pause, until)
			}
		}
		if c.pause(ctx, pause, s.waiting < alwaysHeard, hasSpare); ctx.Err() != nil {
			return c.link.Unreachable(ctx)
		}
	}
}

// alwaysHeard is how many may be before a waiter that keeps its connection in any case, to be woken.
const alwaysHeard = 3

// pause waits for a notification, or for so long. Waiters keep no connection if there are many of them and the server has few.
func (c *contender) pause(ctx context.Context, long time.Duration, isFirst, hasSpare bool) {
	limited, cancel := context.WithTimeout(ctx, jitter(long))
	defer cancel()
	w := c.take()
	switch {
	case w == nil:
	case !isFirst && !hasSpare:
		w.close()
	case !w.hasAsked:
		c.listen(limited, w)
		c.keep(w)
		return // something may have happened before that
	case w.hears:
		w.wait(limited)
		c.keep(w)
		return
	case isFirst:
		cancel()
		limited, cancel = context.WithTimeout(ctx, jitter(long/4))
		defer cancel()
		c.keep(w)
	default:
		w.close()
	}
	<-limited.Done()
}

// listen asks for the notifications of the contender, and finds out whether they come: by way of a pool of connections they do
// not. A notification of its own must come from another connection, since the server answers the same one in any case.
func (c *contender) listen(ctx context.Context, w *session) {
	w.hasAsked = true
	if _, err := w.run(ctx, "LISTEN "+channel(c.key)); err != nil {
		return
	}
	other, err := c.connect(ctx)
	if err != nil {
		return
	}
	defer other.close()
	if _, err := other.run(ctx, "NOTIFY "+channel(c.key)); err == nil {
		w.hears = w.wait(ctx)
	}
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
func (c *contender) Token() int64 {
	if c.Mode == lease.Exclusive {
		return c.token
	}
	return 0
}

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
