//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/user"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/etcd/internal/guard"
	"example.org/flock/internal/cli"
	"example.org/flock/internal/kernlock"
	"example.org/flock/internal/output"
	"example.org/flock/internal/sys"
)

// Contenders stand in line by the revisions at which their keys were made. Nobody overtakes:
//
//	an exclusive one has the lock when nobody is before it,
//	a shared one when no exclusive one is before it,
//	one of N permits when no exclusive one and fewer than N for permits are before it, who all have theirs.

// mode is how a contender wants the lock: the part of its key after the line.
type mode string

const (
	exclusive mode = "x/"
	shared    mode = "s/"
	permit    mode = "p/"
)

func (m mode) String() string {
	return map[mode]string{exclusive: "exclusive", shared: "shared", permit: "permit"}[m]
}

// A request says what a contender asks for.
type request struct {
	*cli.Options
	mode mode
}

func newRequest(o *cli.Options) request {
	q := request{o, exclusive}
	switch {
	case o.Op == kernlock.Shared:
		q.mode = shared
	case o.Permits > 0:
		q.mode = permit
	}
	return q
}

// A contender is the value of a key.
type contender struct {
	Host  string `json:"host"`
	PID   int    `json:"pid"`
	User  string `json:"user"`
	Since int64  `json:"since"` // Unix time at which it came or, with Has, got the lock
	Has   bool   `json:"has"`   // it has the lock; its place in the line may say so, too
	Cools bool   `json:"cools"` // but not that of this one, which also waits for the end of a cooldown

	Permits int `json:"permits,omitempty"` // as its option says
}

// describe returns the value for this process.
func (q request) describe(has bool) string {
	c := contender{PID: os.Getpid(), User: strconv.Itoa(os.Getuid()), Since: time.Now().Unix(), Has: has,
		Cools: q.Queued && q.Cooldown > 0, Permits: q.Permits}
	c.Host, _ = os.Hostname()
	if u, err := user.Current(); err == nil {
		c.User = u.Username
	}
	text, _ := json.Marshal(c)
	return string(text)
}

// A place is a place in the line.
type place struct {
	*store
	*lease
	request
	key      string
	revision int64 // at which the key was made: of two contenders, the lower one comes first

	atOnce  bool   // it came because it need not wait
	told    bool   // its key says that it has the lock
	started bool   // the command has run
	cooling *lease // of the cooldown that began with the command; may be nil
}

// acquire returns a place in the line that has the lock. The error is kernlock.ErrConflict or kernlock.ErrTimeout if others
// have it.
func acquire(ctx context.Context, p *output.Printer, s *store, q request) (*place, error) {
	l, err := contend(ctx, p, s, q)
	var unreachable *unreachableError
	if errors.As(err, &unreachable) && context.Cause(ctx) == kernlock.ErrTimeout && guard.Now() < s.takenUntil {
		err = kernlock.ErrTimeout // the time was over while a request was under way
	}
	return l, err
}

// contend stands in line, again if need be, until a place has the lock.
func contend(ctx context.Context, p *output.Printer, s *store, q request) (*place, error) {
	for slow := 0; ; {
		if q.Cooldown > 0 && !q.Queued {
			if err := s.awaitCooldown(ctx, p, q.Nonblock); err != nil {
				return nil, err
			}
		}
		l, err := s.stand(ctx, q)
		if l == nil {
			return nil, err
		}
		if err == nil {
			err = l.await(ctx)
		}
		if err == nil && q.mode == permit {
			if err = l.announce(ctx); errors.Is(err, rpctypes.ErrNoSpace) {
				err = nil // the next one waits for that, but this one need not
			}
		}
		if err == nil && q.Cooldown > 0 {
			// If this process does not live to begin the cooldown when the command has ended, this one counts.
			err = l.putCooldown(ctx, clientv3.Compare(clientv3.CreateRevision(s.cooldown), "=", 0))
			l.told = err == nil // it writes that, too
		}
		for n := 0; n < 3 && err == nil && l.isOld(); n++ { // too little of the lease would be left to begin
			_, err = l.renew(ctx)
		}
		if err == nil && l.isOld() {
			err = errLost
		}
		if err == nil {
			return l, nil
		}
		isSlow := err == errLost && time.Duration(s.slowness.Load()) > l.ttl/2
		l.releaseSoon()
		if !sys.Is(err, errLost, errCooling, errOvertaken) {
			return nil, err
		}
		// In the first case it was away for longer than the lease, or etcd is too slow. In the others another one was faster.
		if isSlow {
			slow++
		}
		switch {
		case isSlow && slow == 3 && q.Nonblock:
			return nil, s.tooSlow()
		case isSlow && slow == 3:
			p.Warn(s.tooSlow().Error())
		}
	}
}

// isOld reports whether half of the time of the lease is over.
func (l *place) isOld() bool { return guard.Now() >= l.since()+l.ttl/2 }

// stand makes a place in the line: at its end or, with nonblock or a queue that is full, only if it has the lock at once.
func (s *store) stand(ctx context.Context, q request) (*place, error) {
	if q.Nonblock || q.Queued {
		return s.standIf(ctx, q)
	}
	lease, err := s.grant(ctx, s.ttl)
	if err != nil {
		return nil, err
	}
	l := s.newPlace(lease, q)
	l.revision, err = l.put(ctx, false, clientv3.Compare(clientv3.CreateRevision(l.key), "=", 0))
	return l, err
}

func (s *store) newPlace(l *lease, q request) *place {
	return &place{store: s, lease: l, request: q, key: s.line + string(q.mode) + l.String()}
}

// put writes the key of a place, if the conditions hold, and returns the revision at which it was made; 0: there is no key.
func (l *place) put(ctx context.Context, has bool, conditions ...clientv3.Cmp) (revision int64, err error) {
	value := l.describe(has)
	r, err := ask(ctx, l.store, func(ctx context.Context, c *clientv3.Client) (*clientv3.TxnResponse, error) {
		return c.Txn(ctx).If(conditions...).
			Then(clientv3.OpPut(l.key, value, clientv3.WithLease(l.id)), clientv3.OpGet(l.key)).
			Else(clientv3.OpGet(l.key)).Commit()
	})
	if err != nil {
		return 0, err
	}
	// If the conditions do not hold, it is there if an earlier attempt had its effect, but no answer.
	for _, kv := range r.Responses[len(r.Responses)-1].GetResponseRange().Kvs {
		revision = kv.CreateRevision
	}
	return revision, nil
}

// standIf makes a place if it has the lock at once or, with a queue, if few enough wait. The line is read first: no write is
// needed to say that it cannot.
//
// However many come at once who do not exclude each other, each needs the same few transactions: only one that would exclude
// this one or, if it has to wait, any other one makes it look again. Permits are counted again in await.
func (s *store) standIf(ctx context.Context, q request) (*place, error) {
	var l *place
	for {
		v, err := ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (view, error) { return s.look(ctx, c, q, nil) })
		free := v.watch == "" && !(v.cooling && q.Cooldown > 0)
		if err == nil && !free && (q.Nonblock || v.waiting >= q.Queue) {
			err = kernlock.ErrConflict
		}
		if err == nil && l == nil {
			var lease *lease
			if lease, err = s.grant(ctx, s.ttl); err == nil {
				l = s.newPlace(lease, q)
			}
		}
		if err != nil {
			return l, err
		}
		excluding := s.line
		if q.mode != exclusive && free {
			excluding += string(exclusive)
		}
		l.atOnce, l.told = free, free
		conditions := []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(excluding).WithPrefix(), "<", v.revision+1)}
		if free && q.Cooldown > 0 {
			conditions = append(conditions, clientv3.Compare(clientv3.CreateRevision(s.cooldown), "=", 0))
		}
		if l.revision, err = l.put(ctx, free, conditions...); err != nil || l.revision != 0 {
			return l, err
		} // else another one was faster
	}
}

// A view is what a contender sees of the line.
type view struct {
	term     uint64
	revision int64  // of etcd
	watch    string // the key, or with a slash at its end the keys, whose change it must wait for; empty: it has the lock
	changes  bool   // and not only their deletion
	cooling  bool
	waiting  int // how many wait, if they are to be counted
}

// see reads what is before the place. The error is errLost if its own key is gone.
func (l *place) see(ctx context.Context) (view, error) {
	return ask(ctx, l.store, func(ctx context.Context, c *clientv3.Client) (view, error) { return l.look(ctx, c, l.request, l) })
}

// look reads what matters of the line to a contender: to one that stands in it what is before it, to any other (nil)
// everything. The answer is from a majority of the members.
func (s *store) look(ctx context.Context, c *clientv3.Client, q request, l *place) (v view, err error) {
	var own []clientv3.Cmp
	var before []clientv3.OpOption
	if l != nil {
		own = append(own, clientv3.Compare(clientv3.CreateRevision(l.key), "=", l.revision))
		before = append(before, clientv3.WithMaxCreateRev(l.revision-1))
	}
	last := func(prefix string) clientv3.Op {
		return clientv3.OpGet(prefix, append(clientv3.WithLastCreate(), before...)...)
	}
	ops := []clientv3.Op{clientv3.OpGet(s.cooldown, clientv3.WithKeysOnly())}
	switch q.mode {
	case exclusive:
		ops = append(ops, last(s.line))
	case shared:
		ops = append(ops, last(s.line+string(exclusive)))
	case permit:
		ops = append(ops, last(s.line+string(exclusive)), last(s.line+string(permit)),
			clientv3.OpGet(s.line+string(permit), append(append(before, inOrder...), clientv3.WithLimit(int64(q.Permits)))...))
	}
	counts := q.Queued && l == nil
	if counts {
		ops = append(ops, clientv3.OpGet(s.line, inOrder...))
	}
	r, err := c.Txn(ctx).If(own...).Then(ops...).Commit()
	if err != nil {
		return v, err
	}
	if !r.Succeeded {
		return v, errLost
	}
	v = view{term: r.Header.RaftTerm, revision: r.Header.Revision, cooling: r.Responses[0].GetResponseRange().Count > 0}
	if counts {
		v.waiting = s.countWaiting(r.Responses[len(ops)-1].GetResponseRange().Kvs)
	}
	if keys := r.Responses[1].GetResponseRange().Kvs; len(keys) > 0 {
		v.watch = string(keys[0].Key)
		return v, nil
	}
	if q.mode != permit {
		if l != nil && q.Queued && q.Cooldown > 0 && v.cooling {
			v.watch = s.cooldown
		}
		return v, nil
	}
	head, tail := r.Responses[3].GetResponseRange().Kvs, r.Responses[2].GetResponseRange().Kvs
	switch {
	case len(head) < q.Permits && s.countWaiting(head) == 0:
	case !parseContender(tail[0]).Has:
		v.watch, v.changes = string(tail[0].Key), true // for it to say that it has its permit, or to go
	default:
		v.watch = s.line + string(permit) // this is the first who waits: for any permit
	}
	return v, nil
}

func parseContender(kv *mvccpb.KeyValue) (c contender) {
	json.Unmarshal(kv.Value, &c)
	return c
}

// errOvertaken says that others were faster to take the last permits.
var errOvertaken = errors.New("overtaken")

// await waits until the place has the lock. The error is errLost if etcd has dropped the place, and errOvertaken if it
// stands in a queue for which it was not counted.
//
// A watch tells of changes. Because its member may be frozen, and to keep the lease alive, the waiter also asks: two
// requests in six tenths of the TTL.
func (l *place) await(ctx context.Context) error {
	var w watcher
	defer w.stop()
	for ask := l.see; ; {
		v, err := ask(ctx)
		if err != nil {
			return err
		}
		switch {
		case v.watch == "":
			return nil
		case l.Nonblock:
			return kernlock.ErrConflict
		case l.atOnce:
			return errOvertaken
		}
		l.noteTaken(l.ttl)
		w.see(ctx, l.store, v)
		ask = l.renew
		if changed := w.wait(ctx, l.limits().Term-guard.Now()); changed {
			ask = l.see
		}
	}
}

// A watcher tells of changes of what a view depends on.
type watcher struct {
	of      view
	at      *member
	changes clientv3.WatchChan
	cancel  context.CancelFunc // nil: there is no watch
}

// see begins to watch, if the view depends on something else than the last one, or is from another member.
func (w *watcher) see(ctx context.Context, s *store, v view) {
	if w.cancel != nil && w.of.watch == v.watch && w.of.changes == v.changes && w.at == s.current() {
		return
	}
	w.stop()
	options := []clientv3.OpOption{clientv3.WithRev(v.revision + 1)}
	if !v.changes {
		options = append(options, clientv3.WithFilterPut())
	}
	if v.watch[len(v.watch)-1] == '/' {
		options = append(options, clientv3.WithPrefix())
	}
	w.of, w.at = v, s.current()
	ctx, w.cancel = context.WithCancel(ctx)
	w.changes = w.at.watch(ctx, v.watch, options...)
}

func (w *watcher) stop() {
	if w.cancel != nil {
		w.cancel()
		w.cancel = nil
	}
}

// wait waits for a change, no longer than limit. It returns false if there was none.
func (w *watcher) wait(ctx context.Context, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case r, open := <-w.changes:
		if !open || r.Err() != nil {
			// This member has no leader or no connection, or has forgotten the revision. The next view has a newer one.
			w.stop()
			select {
			case <-ctx.Done():
			case <-time.After(jitter(firstPause)):
			}
		}
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// announce writes into the key that its place has the lock, unless it is there.
func (l *place) announce(ctx context.Context) error {
	if l.told {
		return nil
	}
	revision, err := l.put(ctx, true, clientv3.Compare(clientv3.CreateRevision(l.key), "=", l.revision))
	if err == nil && revision != l.revision {
		return errLost
	}
	l.told = err == nil
	return err
}

// release gives the place up, and the cooldown of a command that was not started: somebody else may be able to start it. If
// etcd cannot be reached until the context ends, they end with their leases. Neither waits for the other: a slow etcd may
// have time for one answer only.
//
// To delete the key is faster than to revoke the lease. A lease without keys ends by itself a little later; but not if that
// is long, or if there may be a request under way that makes the key, or makes it again.
func (l *place) release(ctx context.Context) error {
	if l.cooling != nil && !l.started {
		var w sync.WaitGroup
		defer w.Wait()
		w.Go(func() { l.revoke(ctx, l.cooling) })
	}
	if l.ttl > time.Minute || l.revision == 0 || l.repeated.Load() {
		return l.revoke(ctx, l.lease)
	}
	living, cancel := context.WithTimeout(ctx, l.left())
	defer cancel()
	_, err := ask(living, l.store, func(ctx context.Context, c *clientv3.Client) (*clientv3.DeleteResponse, error) {
		return c.Delete(ctx, l.key)
	})
	return err
}

// releaseSoon releases a place for whose release nobody should have to wait.
func (l *place) releaseSoon() {
	ctx, cancel := l.hurry()
	defer cancel()
	l.release(ctx)
}
