package fallback

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"time"
)

// A Lock is one owner's access to the lock whose state is one directory. Its methods must not be called concurrently, but
// processes, and several Locks of one process, need no other coordination. The Locks of one process exclude each other, even
// with the same owner; those of two processes with the same owner are one holder, so that another process than the one that
// locked can convert and release the lock.
//
// A program that locks for itself needs none of the fields. They serve flock(1), which locks for other processes. Mine, Gone
// and Sign are called with one process of a lock at a time, its owner or its keeper: PID and Start of the Owner are those of
// that process, which is alive and runs on this machine.
type Lock struct {
	// Mine reports whether the lock of this process is ours too, as with a descriptor that both have. Such a lock does not
	// conflict with ours, and is converted and released as our own; a conversion leaves it with the process that had it.
	// The answer must be certain: true for somebody else's lock lets two in. nil: never.
	Mine func(Owner) bool
	// Gone reports whether this process has let go of the lock, for instance by closing the descriptor. A lock of which all
	// living processes have let go is free. The answer true must be certain, and for good, as death is; when in doubt the
	// answer is false. It may take some time. nil: never.
	Gone func(Owner) bool
	// Sign says how to notice that this process has let go, that is, when to call Gone again. It is about speed only.
	// nil: it cannot be noticed.
	Sign func(Owner) Sign
	// Notice is called once, when Lock has waited for a second. nil: never.
	Notice func(*ConflictError)
	// Parent is a process whose end makes Lock look at the error of its context at once. 0: none.
	Parent int

	dir    string
	owner  Owner
	bad    error // what is wrong with the owner
	place  *place
	nonces []string // of the records that may be there, see claim.go
}

// Open returns the lock on the file called path for this process, with its state beside the file. The file must exist.
func Open(path string) (*Lock, error) {
	dir, err := StateDir(path, "")
	if err != nil {
		return nil, err
	}
	owner, err := self()
	if err != nil {
		return nil, err
	}
	return New(dir, owner), nil
}

// New returns the lock with the given state directory (see StateDir) for an owner (see Process). It does no I/O.
func New(dir string, owner Owner) *Lock {
	l := &Lock{dir: dir, owner: owner.canonical()}
	if l.owner.Tag != owner.Tag {
		l.bad = errors.New("fallback: the tag is too long: " + strconv.Quote(owner.Tag))
	}
	return l
}

// Dir returns the state directory.
func (l *Lock) Dir() string { return l.dir }

// A Request says how a lock is wanted.
type Request struct {
	Mode    Mode
	Permits int // for Mode Permit: how many holders of a permit there may be at once, ours included
}

// TryLock acquires the lock or returns a *ConflictError at once. Where the owner has the lock already, it is converted,
// and an upgrade that fails loses what there was, as with flock(2) and LOCK_NB.
//
// That another process is acquiring or releasing the lock is no conflict, so TryLock may take some milliseconds; and a
// second, if that process is stopped.
func (l *Lock) TryLock(r Request) error {
	return l.lock(context.Background(), r, time.Unix(0, 0))
}

// Lock waits until it has acquired the lock. If the deadline of ctx passes first, it returns a *ConflictError that wraps
// context.DeadlineExceeded; if ctx is cancelled, the error of ctx, within 50 ms.
func (l *Lock) Lock(ctx context.Context, r Request) error {
	deadline, _ := ctx.Deadline()
	return l.lock(ctx, r, deadline)
}

// lock acquires the lock until the deadline; zero: without limit.
func (l *Lock) lock(ctx context.Context, r Request, deadline time.Time) error {
	if r.Mode < Exclusive || r.Mode > Permit || r.Mode == Permit && r.Permits < 1 {
		return errors.New("fallback: bad request: " + r.Mode.String() + ", " + strconv.Itoa(r.Permits) + " permits")
	}
	if l.bad != nil {
		return l.bad
	}
	if err := l.open(true); err != nil {
		return err
	}
	actor, err := self()
	if err != nil {
		return err
	}
	l.place.parent = l.Parent
	c := l.call(l.place)
	c.ctx = ctx
	if l.Notice != nil {
		c.notice = func(wait []record) { l.Notice(&ConflictError{Dir: l.dir, Holders: l.place.public(wait)}) }
	}
	l.claim(c.owner.nonce)
	holders, err := c.acquire(r, actor, deadline)
	switch {
	case err != nil && err == ctx.Err():
		l.disclaim("")
		return err
	case err != nil:
		return l.place.explain("cannot lock", err) // any of the records may be there
	case holders != nil:
		l.disclaim("")
		conflict := &ConflictError{Dir: l.dir, Holders: l.place.public(holders)}
		if _, ok := ctx.Deadline(); ok {
			conflict.cause = context.DeadlineExceeded
		}
		return conflict
	}
	l.disclaim(c.owner.nonce)
	return nil
}

// Unlock releases what is ours, in whatever mode. It is no error to hold nothing.
func (l *Lock) Unlock() error {
	if err := l.open(false); err != nil {
		return ignoreAbsent(err)
	}
	err := ignoreAbsent(l.call(l.place).release())
	if err == nil {
		l.disclaim("")
	}
	return l.place.explain("cannot unlock", err)
}

// Sweep frees what process pid left, now that it is dead, as a parent does after the command that it started has ended.
// It is never necessary: whoever locks next does the same.
func (l *Lock) Sweep(pid int) error {
	if err := l.open(false); err != nil {
		return ignoreAbsent(err)
	}
	return l.place.explain("cannot clean up", ignoreAbsent(l.call(l.place).sweep(pid)))
}

// A Holder holds the lock, or waits for it.
type Holder struct {
	Owner
	Mode Mode
	// File is the path to remove if the holder is Unreachable and known to be gone: its record, or the whole state
	// directory where the record is the token.
	File string
	// Unreachable says that this machine cannot tell whether the holder lives.
	Unreachable bool
	// Waiting says that it does not hold the lock yet.
	Waiting bool
}

// Holders returns the living holders of the lock, those on other machines included, and then those who have been waiting
// for more than some milliseconds. A state directory that does not exist has none.
func (l *Lock) Holders() ([]Holder, error) {
	if err := l.open(false); err != nil {
		return nil, ignoreAbsent(err)
	}
	c := l.call(l.place)
	v, err := c.lookBusy()
	if err != nil {
		return nil, l.place.explain("cannot read", err)
	}
	holders := c.living(v)
	if v.token.kind == kindBusy && c.lives(v.token) {
		holders = append(holders, v.token)
	}
	return append(l.place.public(holders), l.place.Waiting()...), nil
}

// Waiters returns those who have been waiting for the lock for more than some milliseconds.
func (l *Lock) Waiters() ([]Holder, error) {
	if err := l.open(false); err != nil {
		return nil, ignoreAbsent(err)
	}
	if _, err := l.place.List(); err != nil {
		return nil, l.place.explain("cannot read", err)
	}
	return l.place.Waiting(), nil
}

// lookBusy looks until no process is taking or releasing the lock, or one has been for so long that it is a conflict.
func (c *call) lookBusy() (view, error) {
	start := c.Now()
	for {
		v, err := c.look()
		if err != nil || v.token.kind != kindBusy || !c.lives(v.token) || c.Now().Sub(start) >= stuck {
			return v, err
		}
		c.Pause(shortestPause)
	}
}

// Close closes the file descriptor that a Lock keeps on its directory between calls. It releases nothing, and the Lock may
// be used again.
func (l *Lock) Close() error {
	if l.place == nil {
		return nil
	}
	p := l.place
	l.place = nil
	return p.close()
}

func (l *Lock) open(make bool) (err error) {
	if l.place != nil {
		l.place.make = make
		return nil
	}
	l.place, err = openPlace(l.dir, make)
	return err
}

func (l *Lock) call(s space) *call {
	return &call{space: s, owner: l.owner.renewed(), gone: l.Gone, sign: l.Sign, ours: func(o Owner) bool {
		if l.claimedByOther(o.nonce) {
			return false
		}
		if o.same(l.owner) || l.Mine == nil {
			return o.same(l.owner)
		}
		for _, process := range o.processes() {
			if s.Fate(process) == alive && l.Mine(process) {
				return true
			}
		}
		return false
	}}
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// self is this process as an actor. Its identity cannot change, and finding it takes some system calls.
var self = sync.OnceValues(func() (Owner, error) { return Process(os.Getpid()) })
