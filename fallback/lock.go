package fallback

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"time"
)

// A Lock is one owner's access to the lock whose state is one directory. Its methods are not for concurrent use;
// processes, and several Locks within one, may do as they like. The Locks of one process exclude each other, even with
// the same owner; those of two processes with the same owner are one, so that a lock can be converted and released by
// another process than took it.
type Lock struct {
	// Mine and Gone are called for each process of a lock, its owner and its keeper, with its PID and Start in the
	// Owner, and only while that process lives on this machine. nil: never.

	// Mine reports whether the lock of this process is ours, too, as with a descriptor that both have: then it does
	// not conflict, and is converted and released as our own. It must be certain. A conversion leaves the lock with
	// the process that had it.
	Mine func(Owner) bool
	// Gone reports whether this process has let go of the lock, for instance by closing the descriptor. When all
	// living processes of a lock have, it is free. It must be certain, and for good, as death is: when in doubt the
	// answer is false. It may take some time to find out.
	Gone func(Owner) bool
	// Quit is asked while Lock waits, and ends that with ErrQuit. nil: never. It is asked when the process Parent ends,
	// and otherwise seldom.
	Quit   func() bool
	Parent int
	// Sign says how to notice that a process of a lock has let go of it, besides by its end: when to ask Gone. nil: it
	// cannot be noticed.
	Sign func(Owner) Sign
	// Notice is called once when Lock has waited for a second. nil: never.
	Notice func(*ConflictError)

	dir    string
	owner  Owner
	bad    error // what is wrong with the owner
	place  *place
	nonces []string // of the records that may be there, see claim.go
}

// ErrQuit is the error of a Lock that was told to wait no longer.
var ErrQuit = errors.New("fallback: told to wait no longer")

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

// TryLock acquires the lock or answers a *ConflictError at once. Where the owner has the lock already, it is converted,
// and an upgrade that fails loses what there was, as with flock(2) and LOCK_NB.
//
// That somebody is in the middle of acquiring or releasing is no conflict, so TryLock may take some milliseconds; and a
// second, when a process was stopped there.
func (l *Lock) TryLock(r Request) error {
	return l.lock(r, time.Unix(0, 0))
}

// Lock waits until the lock is acquired, or until the deadline and then answers a *ConflictError. The zero deadline
// waits for ever.
func (l *Lock) Lock(r Request, deadline time.Time) error {
	return l.lock(r, deadline)
}

func (l *Lock) lock(r Request, deadline time.Time) error {
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
	if l.Notice != nil {
		c.notice = func(wait []record) { l.Notice(&ConflictError{Dir: l.dir, Holders: l.place.public(wait)}) }
	}
	l.claim(c.owner.nonce)
	holders, err := c.acquire(r, actor, deadline)
	switch {
	case err == ErrQuit:
		l.disclaim("")
		return err
	case err != nil:
		return l.place.explain("cannot lock", err) // any of the records may be there
	case holders != nil:
		l.disclaim("")
		return &ConflictError{Dir: l.dir, Holders: l.place.public(holders)}
	}
	l.disclaim(c.owner.nonce)
	return nil
}

// Unlock releases what is ours, in whatever mode. To hold nothing is no error.
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

// A Holder is somebody who has the lock.
type Holder struct {
	Owner
	Mode Mode
	// File is the path to remove if the holder is known to be gone and cannot be seen from here, being on another
	// machine: its record, or the whole state directory where the record is the token.
	File string
	// Unreachable says that this machine cannot tell whether the holder lives.
	Unreachable bool
	// Waiting says that it has not got the lock yet.
	Waiting bool
}

// Holders returns the living holders of the lock, those on other machines included, and then who has been waiting for
// more than some milliseconds. A state directory that is not there has none.
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

// Waiters returns who has been waiting for the lock for more than some milliseconds.
func (l *Lock) Waiters() ([]Holder, error) {
	if err := l.open(false); err != nil {
		return nil, ignoreAbsent(err)
	}
	if _, err := l.place.List(); err != nil {
		return nil, l.place.explain("cannot read", err)
	}
	return l.place.Waiting(), nil
}

// lookBusy looks until nobody is taking or releasing the lock, or has been for as long as makes it a conflict.
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

// Close lets go of the file descriptor that a Lock keeps on its directory between calls. It releases nothing, and the
// Lock may be used again.
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
	return &call{space: s, owner: l.owner.renewed(), gone: l.Gone, quit: l.Quit, sign: l.Sign, ours: func(o Owner) bool {
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
