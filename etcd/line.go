package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"os/user"
	"strconv"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/internal/output"
	"example.org/flock/lease"
)

// Contenders stand in line by the revisions at which their keys were made. Nobody overtakes:
//
//	an exclusive one has the lock when nobody is before it,
//	a shared one when no exclusive one is before it,
//	one of N permits when no exclusive one and fewer than N for permits are before it.
//
// Who respects the cooldown stands in a line before that one, first, until its command has ended. Then, or if it dies, its key
// in that line stays for the time of the cooldown, by a lease of its own, so nobody behind it gets on.
//
// The keys of the lock NAME, whose slashes are escaped, so that no lock lies within another:
//
//	PREFIX/NAME/line/x/LEASE      an exclusive contender, with its lease
//	PREFIX/NAME/line/s/LEASE      a shared one
//	PREFIX/NAME/line/p/LEASE      one for a permit
//	PREFIX/NAME/cooldown/x/LEASE  one that respects the cooldown, or its cooldown

var letters = map[lease.Mode]string{lease.Exclusive: "x/", lease.Shared: "s/", lease.Permit: "p/"}

// excluding are the beginnings of the keys of which each keeps one out who comes later.
var excluding = map[lease.Mode]string{lease.Exclusive: "", lease.Shared: "x/", lease.Permit: "x/"}

// A place is one in a line.
type place struct {
	line     string // the prefix of its keys
	key      string
	revision int64 // at which the key was made: of two contenders, the lower one comes first
}

// exists is the condition that the place is there.
func (p *place) exists() clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(p.key), "=", p.revision)
}

// commit makes a transaction, which must have the same effect however often it is made.
func (s *store) commit(ctx context.Context, conditions []clientv3.Cmp, then []clientv3.Op, otherwise ...clientv3.Op) (*clientv3.TxnResponse, error) {
	return ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (*clientv3.TxnResponse, error) {
		return c.Txn(ctx).If(conditions...).Then(then...).Else(otherwise...).Commit()
	})
}

// A contender asks for a lock, or has it.
type contender struct {
	*store
	lease.Request
	base         string           // of the keys of the lock
	first, place place            // in the line before the cooldown, which may be none, and in that for the lock
	lease        clientv3.LeaseID // of both places; 0: not yet
	granted      time.Duration    // how long etcd keeps it after each time that it was kept alive
	sent         atomic.Int64     // when the last request was sent that is known to have had its effect
	cooldown     clientv3.LeaseID // of the cooldown that follows if this process dies; 0: none
	seen         atomic.Int64     // a revision of etcd at which its place was there
	hasWaited    bool             // so its key says since when it waits, not since when it has the lock
}

// A record is the value of a key.
type record struct {
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	User    string `json:"user"`
	Since   int64  `json:"since"`             // Unix time at which it came or got the lock
	Permits int    `json:"permits,omitempty"` // as its option says
	Until   int64  `json:"until,omitempty"`   // Unix time at which its cooldown ends, if it has begun
}

// describe returns the value for this process, whose cooldown ends then.
func (c *contender) describe(until int64) string {
	r := record{Until: until, PID: os.Getpid(), User: strconv.Itoa(os.Getuid()), Since: time.Now().Unix(), Permits: c.Permits}
	r.Host, _ = os.Hostname()
	if u, err := user.Current(); err == nil {
		r.User = u.Username
	}
	text, _ := json.Marshal(r)
	return string(text)
}

func (s *store) base(name string) string { return s.prefix + "/" + url.PathEscape(name) + "/" }

// Acquire implements lease.Backend.
func (s *store) Acquire(ctx context.Context, r lease.Request) (lease.Held, error) {
	s.tell, s.nonblock = r.Tell, r.Nonblock
	if _, limited := ctx.Deadline(); limited {
		s.limit = 0
	}
	time.AfterFunc(time.Second, func() { s.warnOfOld(r.Warn) }) // most are done by then
	for lost := 1; ; lost++ {
		base := s.base(r.Name)
		c := &contender{store: s, Request: r, base: base, first: place{line: base + "cooldown/"}, place: place{line: base + "line/"}}
		err := c.enter(ctx)
		if err == nil {
			s.held.Store(true)
			return c, nil
		}
		c.leave()
		if err != lease.ErrLost {
			return nil, err
		}
		if lost == 3 { // each time etcd was silent for longer than the lease lives
			tooSlow := fmt.Sprintf("etcd at %s answers too slowly for leases of %d s: see FLOCK_ETCD_TTL", s.addresses(), s.ttl)
			if r.Nonblock {
				return nil, &lease.Error{Status: output.ExTempFail, Text: tooSlow}
			}
			r.Warn(tooSlow)
		}
	}
}

// enter waits for the lock.
func (c *contender) enter(ctx context.Context) (err error) {
	places := []*place{&c.first, &c.place}
	if c.Cooldown == 0 {
		places = places[1:]
	}
	for _, p := range places {
		v, err := c.stand(ctx, p)
		if err == nil {
			err = c.await(ctx, p, v)
		}
		if err != nil {
			return err
		}
	}
	if c.Cooldown > 0 {
		var begin clientv3.Op // as long as this process lives it is renewed with the lock
		c.cooldown, begin, err = c.coolDown(ctx, max(c.Cooldown, time.Duration(c.ttl)*time.Second))
		if err == nil {
			c.hasWaited = false
			err = c.tell(ctx, begin)
		}
		if err != nil {
			return err
		}
	}
	if c.isOld() {
		if _, err = c.renew(ctx, &c.place); err == nil && c.isOld() {
			return lease.ErrLost
		}
	}
	return err
}

// A view is what a contender sees before its place.
type view struct {
	term     uint64
	revision int64  // of etcd
	watch    string // the key or, with a slash at its end, the keys of which some must be deleted; empty: it is entitled
	deleted  int    // how many
}

// gets returns the requests for what keeps a contender out in a line, and what may be before it.
func (c *contender) gets(p *place, before ...clientv3.OpOption) []clientv3.Op {
	options := append(before, clientv3.WithKeysOnly())
	list := []clientv3.Op{clientv3.OpGet(p.line+excluding[c.Mode], append(clientv3.WithLastCreate(), options...)...)}
	if c.Mode == lease.Permit {
		list = append(list, clientv3.OpGet(p.line+letters[c.Mode], append(options, clientv3.WithPrefix())...))
	}
	return list
}

// view reads the answers to gets.
func (c *contender) view(h *etcdserverpb.ResponseHeader, answers []*etcdserverpb.ResponseOp) view {
	v := view{term: h.RaftTerm, revision: h.Revision}
	for i, a := range answers {
		switch keys := a.GetResponseRange().Kvs; {
		case v.watch != "" || len(keys) == 0:
		case c.Mode != lease.Permit || i == 0:
			v.watch, v.deleted = string(keys[0].Key), 1
		case len(keys) >= c.Permits: // any of them may be done first
			v.watch, v.deleted = c.place.line+letters[lease.Permit], len(keys)-c.Permits+1
		}
	}
	return v
}

// stand makes a place at the end of a line, and returns what is before it. Who may be refused does so only if nobody has come
// since it has looked who would change the answer.
func (c *contender) stand(ctx context.Context, p *place) (v view, err error) {
	gets, isFirst := c.gets(p), c.lease == 0
	for {
		var conditions []clientv3.Cmp
		if c.Nonblock || c.Queued && isFirst {
			if conditions, err = c.choose(ctx, p); err != nil {
				return v, err
			}
		}
		if c.lease == 0 {
			var sent time.Duration
			c.lease, sent, c.granted, err = c.grant(ctx, c.ttl)
			if c.sent.Store(int64(sent)); err != nil {
				return v, err
			}
		}
		p.key = p.line + letters[c.Mode] + strconv.FormatInt(int64(c.lease), 16)
		r, err := c.commit(ctx, append(conditions, clientv3.Compare(clientv3.CreateRevision(p.key), "=", 0)),
			append(gets[:len(gets):len(gets)], clientv3.OpPut(p.key, c.describe(0), clientv3.WithLease(c.lease))), clientv3.OpGet(p.key, clientv3.WithKeysOnly()))
		if err != nil {
			return v, err
		}
		if r.Succeeded {
			p.revision, v = r.Header.Revision, c.view(r.Header, r.Responses[:len(gets)])
		} else if keys := r.Responses[0].GetResponseRange().Kvs; len(keys) > 0 { // an earlier attempt had its effect, but no answer
			p.revision = keys[0].CreateRevision
			if v, err = c.look(ctx, p); err != nil {
				return v, err
			}
		} else {
			continue // another one was faster
		}
		if c.seen.Store(p.revision); v.watch != "" && c.Nonblock {
			return v, lease.ErrTaken
		}
		return v, nil
	}
}

// choose looks whether a contender would be entitled at once, and refuses if it may not wait: no write is needed to say no. The
// condition is that nobody has come since who would exclude it or, if it is to wait, anybody. So however many come at once who
// do not exclude each other, each needs the same few requests.
func (c *contender) choose(ctx context.Context, p *place) ([]clientv3.Cmp, error) {
	gets := c.gets(p)
	if p == &c.first {
		gets = append(gets, c.gets(&c.place)...)
	}
	n := len(gets)
	if c.Queued {
		gets = append(gets, clientv3.OpGet(c.base, clientv3.WithPrefix()))
	}
	r, err := c.commit(ctx, nil, gets)
	if err != nil {
		return nil, err
	}
	v, waiting := c.view(r.Header, r.Responses[:n]), 0
	for _, all := range r.Responses[n:] {
		for _, other := range contenders(c.prefix, all.GetResponseRange().Kvs) {
			if other.Waits {
				waiting++
			}
		}
	}
	matters := c.base
	switch {
	case v.watch != "" && (c.Nonblock || waiting >= c.Queue):
		return nil, lease.ErrTaken
	case v.watch == "" && c.Mode != lease.Exclusive:
		matters = p.line + excluding[c.Mode]
	}
	return []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(matters).WithPrefix(), "<", v.revision+1)}, nil
}

// look returns what is before a place, as a majority of the servers knows it. The error is lease.ErrLost if its key is gone.
func (c *contender) look(ctx context.Context, p *place) (view, error) {
	return ask(ctx, c.store, func(ctx context.Context, client *clientv3.Client) (view, error) { return c.lookBy(ctx, client, p) })
}

func (c *contender) lookBy(ctx context.Context, client *clientv3.Client, p *place) (view, error) {
	r, err := client.Txn(ctx).If(p.exists()).
		Then(c.gets(p, clientv3.WithMaxCreateRev(p.revision-1))...).Commit()
	switch {
	case err != nil:
		return view{}, err
	case !r.Succeeded:
		return view{}, lease.ErrLost
	}
	c.seen.Store(r.Header.Revision)
	return c.view(r.Header, r.Responses), nil
}

// await waits until a place is entitled. The error is lease.ErrLost if etcd has dropped it.
//
// A watch tells of changes. Because its server may be frozen, and to keep the lease alive, the waiter also asks: two requests
// in six tenths of the TTL.
func (c *contender) await(ctx context.Context, p *place, v view) (err error) {
	for v.watch != "" && err == nil {
		watching, stop := context.WithCancel(ctx)
		changed := c.watch(watching, v)
		since, ttl := c.Life()
		c.hasWaited = true
		c.Tell(lease.ErrTaken)
		select {
		case <-changed:
			v, err = c.look(ctx, p)
		case <-time.After(since + ttl*6/10 - lease.Now()):
			v, err = c.renew(ctx, p)
		case <-ctx.Done():
			err = c.unreachable(ctx)
		}
		stop()
	}
	return err
}

// coolDown has the key in the first line stay for so long, by a lease of its own.
func (c *contender) coolDown(ctx context.Context, long time.Duration) (id clientv3.LeaseID, put clientv3.Op, err error) {
	id, _, _, err = c.grant(ctx, int64(math.Ceil(long.Seconds())))
	return id, clientv3.OpPut(c.first.key, c.describe(time.Now().Add(c.Cooldown).Unix()), clientv3.WithLease(id)), err
}

// tell writes since when this place has the lock.
func (c *contender) tell(ctx context.Context, with ...clientv3.Op) error {
	conditions := []clientv3.Cmp{c.place.exists()}
	if c.Cooldown > 0 {
		conditions = append(conditions, c.first.exists())
	}
	r, err := c.commit(ctx, conditions, append(with, clientv3.OpPut(c.place.key, c.describe(0), clientv3.WithLease(c.lease))))
	if err == nil && !r.Succeeded {
		return lease.ErrLost
	}
	return err
}

// Token implements lease.Held.
func (c *contender) Token() int64 {
	if c.Mode == lease.Exclusive {
		return c.place.revision
	}
	return 0
}

// Renew implements lease.Held.
func (c *contender) Renew(ctx context.Context) error {
	_, err := c.renew(ctx, &c.place)
	return err
}

// Lost implements lease.Held: it watches the key. It also writes since when it has the lock.
func (c *contender) Lost() <-chan struct{} {
	if c.hasWaited {
		c.hasWaited = false
		go c.tell(context.Background())
	}
	return c.watch(context.Background(), view{revision: c.seen.Load(), watch: c.place.key, deleted: 1})
}

// Release implements lease.Held. A command that was not started leaves no cooldown: somebody else may be able to start it.
//
// To delete the key is faster than to revoke the lease. A lease without keys ends by itself a little later; but not if that
// is long, or if there may be a request under way that makes the key again.
func (c *contender) Release(ctx context.Context, ran bool) error {
	if !ran {
		c.leave()
		return nil
	}
	ops := []clientv3.Op{clientv3.OpDelete(c.place.key)}
	if c.Cooldown > 0 {
		_, begin, err := c.coolDown(ctx, c.Cooldown)
		if err != nil {
			return errors.New("cannot set the cooldown: " + err.Error())
		}
		ops = append(ops, begin)
	}
	before := c.repeats.Load()
	r, err := c.commit(ctx, []clientv3.Cmp{c.place.exists()}, ops)
	if err == nil && !r.Succeeded && c.repeats.Load() == before { // else an earlier attempt may have done it
		err = lease.ErrLost
	}
	if err == nil && (c.granted > time.Minute || c.repeats.Load() > 0) {
		c.revoke(ctx, c.lease)
	}
	return err
}

// leave gives up all that was asked for. Nobody should have to wait for that.
func (c *contender) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c.revoke(ctx, c.lease, c.cooldown)
}
