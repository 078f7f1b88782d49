package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/fleet/lease"
)

// Contenders are in line, as lease.Line says, by the revisions at which their keys were made. A cooldown is a key
// that stays by a lease of its own.
//
// The keys of the lock NAME, whose slashes are escaped, so that no lock lies within another:
//
//	PREFIX/NAME/line/x/LEASE      an exclusive contender, with its lease
//	PREFIX/NAME/line/s/LEASE      a shared one
//	PREFIX/NAME/line/p/LEASE      one for a permit
//	PREFIX/NAME/cooldown/x/LEASE  one that respects the cooldown, or its cooldown
//	PREFIX/NAME/last              the run that has got it last, without a lease
//
// A key counts as long as it is there. Nobody but etcd judges whether a lease has ended: it deletes the keys of one
// that has, in one step of the log that has all changes, and after that the lease is not kept alive any more. So no
// contender can leave out a key, by whatever clock, while a request that keeps its lease alive is under way. A place
// is taken, or found entitled, in a transaction that also reads the keys before it.

// middles are what stands between the base of a lock and the lease in the keys of a mode.
var middles = map[lease.Mode]string{
	lease.Exclusive: "line/x/", lease.Shared: "line/s/", lease.Permit: "line/p/", lease.Cooldown: "cooldown/x/",
}

// A place is one in a line.
type place struct {
	mode     lease.Mode
	line     string // the prefix of all keys that may keep it out
	key      string
	revision int64 // at which the key was made: of two contenders, the lower one comes first
}

// exists is the condition that the place is there.
func (p *place) exists() clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(p.key), "=", p.revision)
}

// commit makes a transaction, which must have the same effect however often it is made.
func (s *store) commit(ctx context.Context, conditions []clientv3.Cmp, then []clientv3.Op, otherwise ...clientv3.Op) (
	*clientv3.TxnResponse, error) {
	return ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (*clientv3.TxnResponse, error) {
		return c.Txn(ctx).If(conditions...).Then(then...).Else(otherwise...).Commit()
	})
}

// A contender asks for a lock, or has it.
type contender struct {
	*store
	lease.Claim
	base         string           // of the keys of the lock
	first, place place            // that for the cooldown, which may be none, and that for the lock
	ahead        []*place         // where it waits, and what comes then
	before       view             // what it has seen there
	lease        clientv3.LeaseID // of both places; 0: not yet
	granted      time.Duration    // how long etcd keeps it after each time that it was kept alive
	cooldown     clientv3.LeaseID // of the cooldown that follows if this process dies; 0: none
	seen         atomic.Int64     // a revision of etcd at which its place was there
	heldAt       int64            // a revision of etcd at which it had the lock; 0: it has not had it
	self         lease.Contender  // what the keys of its places say of it
	isWritten    bool             // the run was written, or is about to be
}

// describe returns the value of the key of a place; until is when the cooldown ends, 0: it has not begun.
func (c *contender) describe(until int64) string {
	v := c.self
	v.Until = until
	return toJSON(v)
}

func toJSON(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

func (s *store) base(name string) string { return s.prefix + "/" + url.PathEscape(name) + "/" }

// Contend implements lease.Backend.
func (s *store) Contend(claim lease.Claim) lease.Lock {
	if s.warns {
		time.AfterFunc(time.Second, func() { s.warnedOfOld.Do(s.warnOfOld) }) // most are done by then
	}
	base := s.base(claim.Name)
	c := &contender{store: s, Claim: claim, base: base, first: place{mode: lease.Cooldown, line: base + "cooldown/"},
		place: place{mode: claim.Mode, line: base + "line/"}, self: lease.Self()}
	c.self.Permits = claim.Permits
	if c.Cooldown > 0 {
		c.ahead = append(c.ahead, &c.first)
	}
	c.ahead = append(c.ahead, &c.place)
	return c
}

// Step implements lease.Lock.
func (c *contender) Step(ctx context.Context, renews bool) (out lease.Line, life lease.Life, err error) {
	for len(c.ahead) > 0 {
		p, v := c.ahead[0], view{}
		if p.revision == 0 {
			v, err = c.takePlace(ctx, p)
		} else {
			v, err = c.look(ctx, p, renews)
		}
		life.Prolong(v.life)
		if c.before = v; err != nil || len(v.out) > 0 {
			return v.out, life, err
		}
		if v.revision != 0 { // else nothing is known of the place yet
			c.ahead, renews = c.ahead[1:], false
		}
	}
	return nil, life, c.begin(ctx)
}

// begin has the lock begin.
func (c *contender) begin(ctx context.Context) (err error) {
	c.heldAt, c.self.Since = c.seen.Load(), time.Now().Unix()
	if c.Cooldown == 0 || c.From == lease.FromSuccess {
		return nil // the first place ends with the other one
	}
	var begin clientv3.Op // unless it is from the start it is renewed with the lock, as long as this process lives
	c.cooldown, begin, err = c.coolDown(ctx, c.Cooldown, max(c.Cooldown, time.Duration(c.ttl)*time.Second))
	if err != nil {
		return err
	}
	c.isWritten = true
	return c.writeRun(ctx, begin)
}

// A view is what a contender sees before its place.
type view struct {
	term     uint64
	revision int64      // of etcd
	out      lease.Line // who keeps it out; if nobody does it is entitled
	life     lease.Life // of its place, if that was renewed
}

// get is the request for those who may keep a place out.
func (p *place) get(options ...clientv3.OpOption) clientv3.Op {
	if p.mode == lease.Exclusive || p.mode == lease.Cooldown {
		options = append(options, clientv3.WithLastCreate()...) // all do, so the last one is enough
	}
	return clientv3.OpGet(p.line, append(options, clientv3.WithPrefix(), clientv3.WithKeysOnly())...)
}

// see reads the answer to get, when the place is there.
func (c *contender) see(v *view, p *place, r *clientv3.TxnResponse) {
	c.seen.Store(r.Header.Revision)
	v.term, v.revision = r.Header.RaftTerm, r.Header.Revision
	v.out = c.line(r.Responses[0]).KeepOut(lease.Contender{Mode: p.mode, Permits: c.Permits})
}

// takePlace makes a place at the end of a line, and returns what is before it. A newcomer that may be refused looks
// first: see admit. If others are faster than it there is no place yet, and no view.
func (c *contender) takePlace(ctx context.Context, p *place) (v view, err error) {
	conditions := []clientv3.Cmp{}
	if isNew := c.seen.Load() == 0; isNew && (c.Nonblock || c.Queued) {
		conditions, err = c.admit(ctx)
	}
	if err == nil && c.lease == 0 {
		c.lease, v.life, err = c.grant(ctx, c.ttl)
		c.granted = v.life.TTL
	}
	if err != nil {
		return v, err
	}
	p.key = c.base + middles[p.mode] + strconv.FormatInt(int64(c.lease), 16)
	isMissing := clientv3.Compare(clientv3.CreateRevision(p.key), "=", 0)
	put := clientv3.OpPut(p.key, c.describe(0), clientv3.WithLease(c.lease))
	r, err := c.commit(ctx, append(conditions, isMissing), []clientv3.Op{p.get(), put},
		clientv3.OpGet(p.key, clientv3.WithKeysOnly()))
	if err != nil {
		return v, err
	}
	if r.Succeeded {
		p.revision = r.Header.Revision
		c.see(&v, p, r)
	} else if keys := r.Responses[0].GetResponseRange().Kvs; len(keys) > 0 {
		p.revision = keys[0].CreateRevision // by an earlier attempt, which had its effect, but no answer
	}
	return v, nil
}

// admit looks whether a newcomer is refused: no write is needed to say no. It returns the conditions on which the place
// may be made: nobody has come since the look who would change the answer. If it is to wait, or respects the cooldown,
// or wants an exclusive lock, that is anybody. Otherwise it is only who wants an exclusive lock: however many come at
// once who do not exclude each other, each needs the same few requests.
func (c *contender) admit(ctx context.Context) ([]clientv3.Cmp, error) {
	r, err := c.commit(ctx, nil, []clientv3.Op{clientv3.OpGet(c.base, clientv3.WithPrefix())})
	if err != nil {
		return nil, err
	}
	line, others := c.line(r.Responses[0]), c.base
	if c.Refused(line) {
		return nil, lease.ErrTaken
	}
	if !c.Waits(line) && c.Cooldown == 0 && c.Mode != lease.Exclusive {
		others = c.base + middles[lease.Exclusive]
	}
	noneSince := clientv3.Compare(clientv3.CreateRevision(others).WithPrefix(), "<", r.Header.Revision+1)
	return []clientv3.Cmp{noneSince}, nil
}

// Wait implements lease.Lock. A watch tells of changes, unless its server is frozen.
func (c *contender) Wait(ctx context.Context, until time.Duration) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	p, out := c.ahead[0], c.before.out
	last, deleted := out[len(out)-1], 1
	if last.Mode == lease.Permit && p.mode == lease.Permit { // any of them may be done first
		last.Key, deleted = c.base+middles[lease.Permit], len(out)-c.Permits+1
	}
	select {
	case <-c.watch(watching, last.Key, c.before.revision, deleted):
	case <-time.After(min(until-lease.Now(), 10*time.Second)):
	case <-ctx.Done():
	}
}

// coolDown has the key in the first line stay, by a lease of its own, for a time that is longer than the cooldown if
// the lease is to be kept alive.
func (c *contender) coolDown(ctx context.Context, cools, stays time.Duration) (
	id clientv3.LeaseID, put clientv3.Op, err error) {
	id, _, err = c.grant(ctx, int64(math.Ceil(stays.Seconds())))
	return id, c.putCooldown(id, cools), err
}

// putCooldown writes the cooldown, which lasts for so long from now on.
func (c *contender) putCooldown(id clientv3.LeaseID, cools time.Duration) clientv3.Op {
	return clientv3.OpPut(c.first.key, c.describe(time.Now().Add(cools).Unix()), clientv3.WithLease(id))
}

// writeRun writes since when this place has the lock, and the run of its command.
func (c *contender) writeRun(ctx context.Context, with ...clientv3.Op) error {
	conditions := []clientv3.Cmp{c.place.exists()}
	if c.Cooldown > 0 {
		conditions = append(conditions, c.first.exists())
	}
	put := clientv3.OpPut(c.place.key, c.describe(0), clientv3.WithLease(c.lease))
	r, err := c.commitWith(ctx, c.beginRun(), conditions, append(with, put))
	if err == nil && !r.Succeeded {
		return lease.ErrLost
	}
	return err
}

// Token implements lease.Lock.
func (c *contender) Token() int64 {
	if c.Mode == lease.Exclusive {
		return c.place.revision
	}
	return 0
}

// Renew implements lease.Lock.
func (c *contender) Renew(ctx context.Context) (lease.Life, error) {
	v, err := c.look(ctx, &c.place, true)
	return v.life, err
}

// Lost implements lease.Lock: it watches the key. It also writes since when it has the lock.
func (c *contender) Lost() <-chan struct{} {
	if !c.isWritten {
		c.isWritten = true
		go c.writeRun(context.Background())
	}
	return c.watch(context.Background(), c.place.key, c.seen.Load(), 1)
}

// Release implements lease.Lock.
//
// To delete the key is faster than to revoke the lease. A lease without keys ends by itself; that of the places is
// revoked all the same if that takes long, or if there may be a request under way that makes the key again.
func (c *contender) Release(ctx context.Context, end lease.End) error {
	isOurs := []clientv3.Cmp{c.place.exists()}
	switch end.Fate {
	case lease.NotStarted:
		if c.heldAt != 0 { // if writing that takes too long, half a second is left for the leases
			half, cancel := context.WithTimeout(ctx, time.Second/2)
			defer cancel()
			c.commit(half, isOurs, []clientv3.Op{c.endRun(end)})
		}
		c.revoke(ctx, c.lease, c.cooldown)
		return nil
	case lease.Killed:
		var both sync.WaitGroup
		both.Go(func() { c.confirmCooldown(ctx, end.Cools) })
		both.Go(func() { c.revoke(ctx, c.lease) })
		both.Wait()
		return nil
	}
	// The command has ended: the key goes, and the cooldown begins or goes with it.
	ops := []clientv3.Op{clientv3.OpDelete(c.place.key)}
	switch {
	case c.Cooldown == 0:
	case end.Cools <= 0:
		ops = append(ops, clientv3.OpDelete(c.first.key))
	default:
		_, begin, err := c.coolDown(ctx, end.Cools, end.Cools)
		if err != nil {
			return errors.New("cannot set the cooldown: " + err.Error())
		}
		ops = append(ops, begin)
	}
	before := c.link.Repeats()
	r, err := c.commitWith(ctx, c.endRun(end), isOurs, ops)
	switch {
	case err != nil:
		return err
	case !r.Succeeded && c.link.Repeats() == before: // else an earlier attempt may have deleted the key
		c.confirmCooldown(ctx, end.Cools)
		return lease.ErrLost
	case c.granted > time.Minute || c.link.Repeats() > 0:
		c.revoke(ctx, c.lease)
	}
	return nil
}

// confirmCooldown writes the key of the cooldown that has begun with the command once more, unless that is over: Break
// has perhaps deleted it.
func (c *contender) confirmCooldown(ctx context.Context, cools time.Duration) {
	if c.cooldown != 0 {
		c.commit(ctx, nil, []clientv3.Op{c.putCooldown(c.cooldown, cools)})
	}
}
