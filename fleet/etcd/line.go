package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/url"
	"os"
	"os/user"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
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
	lease        clientv3.LeaseID // of both places; 0: not yet
	granted      time.Duration    // how long etcd keeps it after each time that it was kept alive
	sent         atomic.Int64     // when the last request was sent that is known to have had its effect
	cooldown     clientv3.LeaseID // of the cooldown that follows if this process dies; 0: none
	seen         atomic.Int64     // a revision of etcd at which its place was there
	started      time.Duration    // when it got the lock
	heldAt       int64            // a revision of etcd at which it had the lock
	run          lastRun          // the run of its command, when it has the lock
	isWritten    bool             // the run was written, or is about to be
}

// A value is that of the key of a place.
type value struct {
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	User    string `json:"user"`
	Since   int64  `json:"since"`             // Unix time at which it came or got the lock
	Permits int    `json:"permits,omitempty"` // as its option says
	Until   int64  `json:"until,omitempty"`   // Unix time at which its cooldown ends, if it has begun
}

// describe returns the value for this process, whose cooldown ends then; 0: it has not begun.
func (c *contender) describe(until int64) string {
	v := c.run.value
	if v.Since == 0 { // it does not have the lock
		v = c.newValue()
	}
	v.Until = until
	text, _ := json.Marshal(v)
	return string(text)
}

// newValue returns the value for this process, which comes or gets the lock now.
func (c *contender) newValue() value {
	v := value{PID: os.Getpid(), User: strconv.Itoa(os.Getuid()), Since: time.Now().Unix(), Permits: c.Permits}
	v.Host, _ = os.Hostname()
	if u, err := user.Current(); err == nil {
		v.User = u.Username
	}
	return v
}

func (s *store) base(name string) string { return s.prefix + "/" + url.PathEscape(name) + "/" }

// Acquire implements lease.Backend.
func (s *store) Acquire(ctx context.Context, claim lease.Claim) (lease.Held, error) {
	if s.warns {
		time.AfterFunc(time.Second, func() { s.warnedOfOld.Do(s.warnOfOld) }) // most are done by then
	}
	base := s.base(claim.Name)
	c := &contender{store: s, Claim: claim, base: base, first: place{mode: lease.Cooldown, line: base + "cooldown/"},
		place: place{mode: claim.Mode, line: base + "line/"}}
	if err := c.enter(ctx); err != nil {
		c.leave()
		return nil, err
	}
	return c, nil
}

// enter waits for the lock.
func (c *contender) enter(ctx context.Context) (err error) {
	places := []*place{&c.first, &c.place}
	if c.Cooldown == 0 {
		places = places[1:]
	}
	for _, p := range places {
		v, err := c.takePlace(ctx, p)
		if err == nil {
			err = c.await(ctx, p, v)
		}
		if err != nil {
			return err
		}
	}
	c.started, c.heldAt = lease.Now(), c.seen.Load()
	c.run = lastRun{value: c.newValue(), Key: c.place.key, Token: c.Token()}
	if c.Cooldown == 0 || c.From == lease.FromSuccess {
		return nil // the first place ends with the other one
	}
	var begin clientv3.Op // unless it is from the start it is renewed with the lock, as long as this process lives
	c.cooldown, begin, err = c.coolDown(ctx, max(c.Cooldown, time.Duration(c.ttl)*time.Second))
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
}

// get is the request for those who may keep a place out.
func (p *place) get(options ...clientv3.OpOption) clientv3.Op {
	if p.mode == lease.Exclusive || p.mode == lease.Cooldown {
		options = append(options, clientv3.WithLastCreate()...) // all do, so the last one is enough
	}
	return clientv3.OpGet(p.line, append(options, clientv3.WithPrefix(), clientv3.WithKeysOnly())...)
}

// view reads the answer to get.
func (c *contender) view(p *place, h *etcdserverpb.ResponseHeader, answer *etcdserverpb.ResponseOp) view {
	return view{h.RaftTerm, h.Revision, c.line(answer).KeepOut(lease.Contender{Mode: p.mode, Permits: c.Permits})}
}

// takePlace makes a place at the end of a line, and returns what is before it. A newcomer that may be refused looks
// first, and again until it has its place or is refused: see admit.
func (c *contender) takePlace(ctx context.Context, p *place) (v view, err error) {
	mayBeRefused := c.lease == 0 && (c.Nonblock || c.Queued)
	for isIn := false; !isIn; {
		var conditions []clientv3.Cmp
		if mayBeRefused {
			conditions, err = c.admit(ctx)
		}
		if err == nil && c.lease == 0 {
			err = c.grantPlaces(ctx)
		}
		if err == nil {
			v, isIn, err = c.putPlace(ctx, p, conditions)
		}
		if err != nil {
			return v, err
		}
	}
	if c.seen.Store(p.revision); len(v.out) > 0 && c.Nonblock {
		return v, lease.ErrTaken
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

// putPlace makes the key of a place, and returns what is before it. If the conditions do not hold there is no place.
func (c *contender) putPlace(ctx context.Context, p *place, conditions []clientv3.Cmp) (v view, isIn bool, err error) {
	p.key = c.base + middles[p.mode] + strconv.FormatInt(int64(c.lease), 16)
	isMissing := clientv3.Compare(clientv3.CreateRevision(p.key), "=", 0)
	put := clientv3.OpPut(p.key, c.describe(0), clientv3.WithLease(c.lease))
	r, err := c.commit(ctx, append(conditions, isMissing), []clientv3.Op{p.get(), put},
		clientv3.OpGet(p.key, clientv3.WithKeysOnly()))
	switch {
	case err != nil:
		return v, false, err
	case r.Succeeded:
		p.revision = r.Header.Revision
		return c.view(p, r.Header, r.Responses[0]), true, nil
	}
	keys := r.Responses[0].GetResponseRange().Kvs
	if isIn = len(keys) > 0; isIn { // by an earlier attempt, which had its effect, but no answer
		p.revision = keys[0].CreateRevision
		v, err = c.look(ctx, p)
	}
	return v, isIn, err
}

// look returns what is before a place, as a majority of the servers knows it. The error is lease.ErrLost if its key is
// gone.
func (c *contender) look(ctx context.Context, p *place) (view, error) {
	return ask(ctx, c.store, func(ctx context.Context, client *clientv3.Client) (view, error) {
		return c.lookBy(ctx, client, p)
	})
}

func (c *contender) lookBy(ctx context.Context, client *clientv3.Client, p *place) (view, error) {
	r, err := client.Txn(ctx).If(p.exists()).
		Then(p.get(clientv3.WithMaxCreateRev(p.revision - 1))).Commit()
	switch {
	case err != nil:
		return view{}, err
	case !r.Succeeded:
		return view{}, lease.ErrLost
	}
	c.seen.Store(r.Header.Revision)
	return c.view(p, r.Header, r.Responses[0]), nil
}

// await waits until a place is entitled. The error is lease.ErrLost if etcd has dropped it.
//
// A watch tells of changes. Because its server may be frozen, and to keep the lease alive, the waiter also asks: two
// requests in six tenths of the TTL, or in ten seconds if that is less.
func (c *contender) await(ctx context.Context, p *place, v view) (err error) {
	for len(v.out) > 0 && err == nil {
		watching, stop := context.WithCancel(ctx)
		last, deleted := v.out[len(v.out)-1], 1
		if last.Mode == lease.Permit && p.mode == lease.Permit { // any of them may be done first
			last.Key, deleted = c.base+middles[lease.Permit], len(v.out)-c.Permits+1
		}
		changed := c.watch(watching, last.Key, v.revision, deleted)
		since, ttl := c.Life()
		c.link.Taken()
		select {
		case <-changed:
			v, err = c.look(ctx, p)
		case <-time.After(since + min(ttl*6/10, 10*time.Second) - lease.Now()):
			v, err = c.renew(ctx, p)
		case <-ctx.Done():
			err = c.link.Unreachable(ctx)
		}
		stop()
	}
	return err
}

// coolDown has the key in the first line stay for so long, by a lease of its own.
func (c *contender) coolDown(ctx context.Context, long time.Duration) (
	id clientv3.LeaseID, put clientv3.Op, err error) {
	id, _, _, err = c.grant(ctx, int64(math.Ceil(long.Seconds())))
	return id, clientv3.OpPut(c.first.key, c.describe(c.coolsUntil().Unix()), clientv3.WithLease(id)), err
}

// coolsUntil returns when a cooldown ends that begins now, or has begun with the command.
func (c *contender) coolsUntil() time.Time {
	began := lease.Now()
	if c.From == lease.FromStart {
		began = c.started
	}
	return time.Now().Add(began + c.Cooldown - lease.Now())
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
	if !c.isWritten {
		c.isWritten = true
		go c.writeRun(context.Background())
	}
	return c.watch(context.Background(), c.place.key, c.seen.Load(), 1)
}

// Release implements lease.Held.
//
// To delete the key is faster than to revoke the lease. A lease without keys ends by itself; that of the places is
// revoked all the same if that takes long, or if there may be a request under way that makes the key again.
func (c *contender) Release(ctx context.Context, end lease.End) error {
	isOurs := []clientv3.Cmp{c.place.exists()}
	aSecond, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	switch end.Fate {
	case lease.NotStarted: // if writing that takes too long, half a second is left for the leases
		half, cancel := context.WithTimeout(aSecond, time.Second/2)
		defer cancel()
		c.commit(half, isOurs, []clientv3.Op{c.endRun(end)})
		c.revoke(aSecond, c.lease, c.cooldown)
		return nil
	case lease.Killed:
		var both sync.WaitGroup
		both.Go(func() { c.confirmCooldown(aSecond) })
		both.Go(func() { c.revoke(aSecond, c.lease) })
		both.Wait()
		return nil
	}
	// The command has ended or failed: the key goes, and the cooldown begins or goes with it.
	ops := []clientv3.Op{clientv3.OpDelete(c.place.key)}
	switch long := time.Until(c.coolsUntil()); {
	case c.Cooldown == 0:
	case end.Fate == lease.Failed, long <= 0:
		ops = append(ops, clientv3.OpDelete(c.first.key))
	default:
		_, begin, err := c.coolDown(ctx, long)
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
		c.confirmCooldown(ctx)
		return lease.ErrLost
	case c.granted > time.Minute || c.link.Repeats() > 0:
		c.revoke(ctx, c.lease)
	}
	return nil
}

// confirmCooldown writes the key of the cooldown that has begun with the command once more, unless that is over. So
// Break sees that its holder lives; if Break has deleted the key, it is there again.
func (c *contender) confirmCooldown(ctx context.Context) {
	if c.cooldown != 0 {
		put := clientv3.OpPut(c.first.key, c.describe(c.coolsUntil().Unix()), clientv3.WithLease(c.cooldown))
		c.commit(ctx, nil, []clientv3.Op{put})
	}
}

// leave gives up all that was asked for. Nobody should have to wait for that.
func (c *contender) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c.revoke(ctx, c.lease, c.cooldown)
}
