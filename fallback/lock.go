package fallback

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// A Lock is one holder's access to the lock on a file. Open makes one. Its methods must not be called concurrently, but
// processes, and several Locks of one process, need no other coordination. While it holds the lock it has two descriptors
// open, and otherwise none; what it holds when it is forgotten is free when the process ends. All calls of the zero Lock fail.
type Lock struct {
	// Waiting, if it is not nil, is called once in each call that has waited for a second.
	Waiting func(*LockedError)

	dir   string // the state directory
	path  string // of the locked file
	fd    int    // the descriptor whose open file has the lock; -1: a lifeline has it
	state *stateDir
	self  contestant
}

// A contestant is what stands for this Lock in the state directory, while it waits and while it holds.
type contestant struct {
	id   string
	name string // under which its lifeline stands, "": none
	life lifeline
}

// Open returns the lock on the file called path for this process, with its state beside the file. The file need not exist,
// but the directory around it must.
func Open(path string) (*Lock, error) {
	dir, err := StateDir(path, "")
	if err != nil {
		return nil, err
	}
	return OpenIn(dir, path), nil
}

// OpenIn is Open with the state directory dir, see StateDir.
func OpenIn(dir, path string) *Lock { return &Lock{dir: dir, path: path, fd: -1} }

// OpenQueue returns a lock whose permits are the places of those who wait for the lock with the state directory dir. Its own
// state is inside that.
func OpenQueue(dir, path string) (*Lock, error) {
	state, err := openState(dir, true)
	if err != nil {
		return nil, err
	}
	state.close()
	return OpenIn(filepath.Join(dir, "queue"), path), nil
}

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
// second, if that process is stopped.
func (l *Lock) TryLock() error { return l.Acquire(Request{Mode: Exclusive, Try: true}) }

// TryRLock is RLock, but returns a *LockedError at once if another holds the lock exclusively.
func (l *Lock) TryRLock() error { return l.Acquire(Request{Mode: Shared, Try: true}) }

// TryPermit is Permit, but returns a *LockedError at once if no permit is free.
func (l *Lock) TryPermit(n int) error { return l.Acquire(Request{Mode: Permit, Permits: n, Try: true}) }

func (l *Lock) lock(ctx context.Context, r Request) error {
	r.Deadline, _ = ctx.Deadline()
	return l.acquire(ctx, r)
}

// A Request says how a lock is wanted.
type Request struct {
	Mode     Mode
	Permits  int       // for Mode Permit: how many holders of a permit there may be at once, this one included
	Try      bool      // do not wait
	Deadline time.Time // when to give up; zero: never
}

// Acquire takes the lock as the request says. The other methods are made from it.
func (l *Lock) Acquire(r Request) error { return l.acquire(context.Background(), r) }

func (l *Lock) acquire(ctx context.Context, r Request) error {
	changes.Add(1)
	defer changes.Add(1)
	switch {
	case r.Mode < Exclusive, r.Mode > Permit:
		return errors.New("fallback: the mode must be Exclusive, Shared or Permit")
	case r.Mode == Permit && r.Permits < 1:
		return errors.New("fallback: there must be at least one permit")
	}
	c, err := l.contend(r, true)
	if err != nil {
		return err
	}
	keepers, err := c.acquire(ctx)
	if err != nil || keepers != nil || l.fd >= 0 {
		c.leave()
		l.closeState()
	}
	switch {
	case err != nil && err == ctx.Err():
		return err
	case err != nil:
		return &stateDirError{"cannot lock", l.dir, err}
	case keepers != nil:
		locked := c.lockedBy(keepers)
		if _, ok := ctx.Deadline(); ok {
			locked.cause = context.DeadlineExceeded
		}
		return locked
	}
	return nil
}

// Inherit lets the processes that this one starts from now on have the lock, too, and the program that it becomes: then the
// lock lasts until the last of them has ended, or has closed the descriptor. The lock of an open file always does.
func (l *Lock) Inherit() error {
	if l.self.name == "" {
		return nil
	}
	return l.self.life.inherit()
}

// Unlock releases what this Lock holds, in whatever mode. If processes that have inherited the lock live, it is theirs. It is no
// error to hold nothing.
func (l *Lock) Unlock() error { return l.unlock((*contender).release) }

// Discard is Unlock, and removes the state directory if nobody else uses the lock.
func (l *Lock) Discard() error { return l.unlock((*contender).discard) }

func (l *Lock) unlock(release func(*contender) error) error {
	changes.Add(1)
	if l.state == nil && l.fd < 0 {
		return nil // nothing is held
	}
	c, err := l.contend(Request{}, false)
	if err != nil {
		return ignoreAbsent(err)
	}
	defer l.closeState()
	if err := ignoreAbsent(release(c)); err != nil {
		return &stateDirError{"cannot unlock", l.dir, err}
	}
	return nil
}

// Holders returns the holders of the lock, those on other machines included, and then those who wait for it. On Linux all
// processes that have the lock are holders. A state directory that does not exist has none.
func (l *Lock) Holders() ([]Holder, error) {
	reader := &Lock{dir: l.dir, path: l.path, fd: -1}
	c, err := reader.contend(Request{}, false)
	if err != nil {
		return nil, ignoreAbsent(err)
	}
	defer reader.closeState()
	holders, err := c.everybody()
	if err != nil {
		return nil, &stateDirError{"cannot read", l.dir, err}
	}
	return holders, nil
}

// contend begins a call. Without make, a state directory that is not there is fs.ErrNotExist.
func (l *Lock) contend(r Request, make bool) (*contender, error) {
	if l.dir == "" {
		return nil, errors.New("fallback: this Lock was not made by Open")
	}
	if l.state == nil {
		state, err := openState(l.dir, make)
		if err != nil {
			return nil, err
		}
		l.state = state
	}
	return newContender(thisSystem{l.state, l.path, l.fd}, l, r), nil
}

func (l *Lock) closeState() {
	if l.state != nil {
		l.state.close()
		l.state = nil
	}
}

var pid = os.Getpid()

// changes orders memory as a sync.Mutex does, for several Locks of one process: what a holder has written is there for the next.
var changes atomic.Int64
