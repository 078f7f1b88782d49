package fallback

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"sync/atomic"

	"example.org/flock/internal/events"
)

// A Lock is one holder's access to the lock on a file. Open makes one. Its methods must not be called concurrently, but
// processes, and several Locks of one process, need no other coordination. It keeps nothing open between two calls, so
// there is nothing to close; what it holds when it is forgotten is free when the process ends. The zero Lock is an error in
// all calls.
type Lock struct {
	// Waiting, if it is not nil, is called once in each call that has waited for a second.
	Waiting func(*LockedError)

	dir    string   // the state directory
	path   string   // of the locked file
	owner  owner    // for whom the lock is
	ofSelf bool     // whether that is this process, and no other locks for it
	file   openFile // whose lock it is, if it is not a process's
	held   record   // what the last call that locked has made
	nonces []string // of the records that may be there: those that this Lock has made
	queued []string // those who waited when the lock was taken

	watcher events.Watcher // what waiting has left open
}

// Open returns the lock on the file called path for this process, with its state beside the file. The file need not exist,
// but the directory around it must.
func Open(path string) (*Lock, error) {
	dir, err := StateDir(path, "")
	if err != nil {
		return nil, err
	}
	// The number tells the Locks of this process apart.
	l, err := OfProcess(dir, path, os.Getpid(), int(opened.Add(1)&math.MaxInt32))
	if err == nil {
		l.ofSelf = true
	}
	return l, err
}

// opened is how many Locks Open has made.
var opened atomic.Int64

// Lock waits until it has the lock exclusively. If the deadline of ctx passes first, it returns a *LockedError; if ctx is
// cancelled, the error of ctx, within 50 ms.
//
// A lock that this Lock already holds is converted, here and in the other methods. An upgrade that has to wait, or that
// fails, gives up what there was, as with flock(2). A context whose deadline has passed gets a lock that is free.
func (l *Lock) Lock(ctx context.Context) error { return l.lock(ctx, Request{Mode: Exclusive}) }

// RLock waits until it has the lock shared.
func (l *Lock) RLock(ctx context.Context) error { return l.lock(ctx, Request{Mode: Shared}) }

// Permit waits until it has one of n permits. All who use the lock should give the same n. Whoever locks exclusively waits
// for the holders of all permits.
func (l *Lock) Permit(ctx context.Context, n int) error {
	return l.lock(ctx, Request{Mode: Permit, Permits: n})
}

// TryLock is Lock, but returns a *LockedError at once if others hold the lock.
//
// That another process is taking or releasing the lock is no reason to fail, so TryLock may take some milliseconds; and a
// second, if that process is stopped. Where hundreds of processes are started each second, it can take some seconds until it
// is certain that nobody has an open file any more.
func (l *Lock) TryLock() error { return l.try(Request{Mode: Exclusive}) }

// TryRLock is RLock, but returns a *LockedError at once if another holds the lock exclusively.
func (l *Lock) TryRLock() error { return l.try(Request{Mode: Shared}) }

// TryPermit is Permit, but returns a *LockedError at once if no permit is free.
func (l *Lock) TryPermit(n int) error { return l.try(Request{Mode: Permit, Permits: n}) }

func (l *Lock) lock(ctx context.Context, r Request) error {
	r.Deadline, _ = ctx.Deadline()
	defer l.watcher.Close()
	return l.acquire(ctx, r)
}

func (l *Lock) try(r Request) error {
	r.Try = true
	return l.lock(context.Background(), r)
}

// Unlock releases what this Lock holds, in whatever mode. It is no error to hold nothing.
func (l *Lock) Unlock() error {
	c, err := l.begin(Request{}, false)
	if err != nil {
		return ignoreAbsent(err)
	}
	defer c.state.close()
	if err := ignoreAbsent(c.unlock()); err != nil {
		return &stateDirError{"cannot unlock", l.dir, err}
	}
	l.held, l.nonces = record{}, nil
	return nil
}

// Holders returns the holders of the lock, those on other machines included, and then those who wait for it. Where the lock
// is that of an open file, all processes that have it open are holders. A state directory that does not exist has none.
func (l *Lock) Holders() ([]Holder, error) {
	c, err := l.begin(Request{}, false)
	if err != nil {
		return nil, ignoreAbsent(err)
	}
	defer c.state.close()
	s, rs, err := c.settle()
	if err != nil {
		return nil, &stateDirError{"cannot read", l.dir, err}
	}
	return append(c.everyone(rs), c.waiters(s)...), nil
}

// Dir returns the state directory.
func (l *Lock) Dir() string { return l.dir }

// made reports whether this Lock has made the record of an owner.
func (l *Lock) made(o owner) bool { return slices.Contains(l.nonces, o.nonce) }

// acquire takes the lock as the request says.
func (l *Lock) acquire(ctx context.Context, r Request) error {
	switch {
	case r.Mode < Exclusive, r.Mode > Permit:
		return errors.New("fallback: cannot lock in " + r.Mode.String())
	case r.Mode == Permit && r.Permits < 1:
		return errors.New("fallback: there must be at least one permit")
	}
	if err := ctx.Err(); err != nil && err != context.DeadlineExceeded {
		return err
	}
	c, err := l.begin(r, true)
	if err != nil {
		return err
	}
	defer c.state.close()
	l.nonces = append(l.nonces, c.mine.nonce)
	blockers, err := c.acquire(newWaiting(ctx, c))
	switch {
	case err != nil && err == ctx.Err():
		l.nonces = nil
		return err
	case err != nil:
		return &stateDirError{"cannot lock", l.dir, err} // any of the records may be there
	case blockers != nil:
		l.nonces = nil
		locked := &LockedError{Dir: l.dir, Holders: c.holders(blockers)}
		if _, ok := ctx.Deadline(); ok {
			locked.cause = context.DeadlineExceeded
		}
		return locked
	}
	l.held, l.queued = newRecord(wordOf(r.Mode), c.mine), c.listed.waiters
	l.nonces = []string{c.mine.nonce}
	return nil
}

// begin begins a call. Without make, a state directory that is not there is fs.ErrNotExist.
func (l *Lock) begin(r Request, make bool) (*call, error) {
	if l.dir == "" {
		return nil, errors.New("fallback: this Lock was not made by Open")
	}
	actor, err := self()
	if err != nil {
		return nil, err
	}
	state, err := openState(l.dir, make)
	if err != nil {
		return nil, err
	}
	c := newCall(l, r, actor, state, thisSystem{l.file.fd})
	c.state, c.line = state, &line{state: state}
	c.isLocal = r.Mode == Shared && state.dir.isLocal()
	c.wake = func(anew bool) {
		if anew { // a process that is not in the line yet looks after we have released
			names, err := state.List()
			if err != nil {
				return
			}
			c.listed, _ = parse(names)
		}
		c.line.wake(c.listed.waiters)
	}
	return c, nil
}
