package fallback

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"time"
)

// A Lock is one owner's access to the lock whose state is one directory. Its methods are not for concurrent use;
// processes, and several Locks within one, may do as they like.
type Lock struct {
	// Mine says of a living process other than the owner whether its lock is ours too, as with a descriptor that is
	// shared with an ancestor: such records never conflict, and are converted and released as our own. nil: never.
	// A conversion leaves the lock with the process that had it.
	Mine func(Owner) bool
	// Gone says of an owner that lives on this machine whether it has let go of the lock all the same, for instance
	// by closing the descriptor. Like death it must be for good. nil: never.
	Gone func(Owner) bool
	// Kept says of an owner that is dead whether its lock lasts all the same, as somebody who lives still has to do
	// with it. All contenders must come to the same answer. nil: never.
	Kept func(Owner) bool
	// Quit is asked while Lock waits, and ends that with ErrQuit. nil: never. It is asked when the process Parent ends,
	// and else seldom.
	Quit   func() bool
	Parent int
	// Signs says what tells that a living owner has let go of the lock, besides its end: when to ask Gone and Kept.
	// nil: nothing does.
	Signs func(Owner) Signs
	// Notice is called once when Lock has waited for a second for holders of whom this machine cannot tell whether they
	// live. nil: never.
	Notice func(*ConflictError)

	dir   string
	owner Owner
	place *place
}

// ErrQuit is the error of a Lock that was told to wait no longer.
var ErrQuit = errors.New("fallback: told to wait no longer")

// New returns the lock with the given state directory (see StateDir) for an owner (see Process). It does no I/O.
func New(dir string, owner Owner) *Lock {
	return &Lock{dir: dir, owner: owner.canonical()}
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
	holders, err := c.acquire(r, actor, deadline)
	if err != nil {
		return l.place.explain("cannot lock", err)
	}
	if holders != nil {
		return &ConflictError{Dir: l.dir, Holders: l.place.public(holders)}
	}
	return nil
}

// Unlock releases what is ours, in whatever mode. To hold nothing is no error.
func (l *Lock) Unlock() error {
	if err := l.open(false); err != nil {
		return ignoreAbsent(err)
	}
	return l.place.explain("cannot unlock", ignoreAbsent(l.call(l.place).release()))
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
	v, err := c.look()
	if err != nil {
		return nil, l.place.explain("cannot read", err)
	}
	return append(l.place.public(c.living(v)), l.place.Waiting()...), nil
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
	return &call{space: s, owner: l.owner.renewed(), gone: l.Gone, kept: l.Kept, quit: l.Quit, signs: l.Signs, ours: func(o Owner) bool {
		return o.same(l.owner) || l.Mine != nil && l.Mine(o) && (s.Fate(o) == alive || l.Kept != nil && l.Kept(o))
	}}
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// self is this process as an actor. Its identity cannot change, and finding it takes some system calls.
func self() (Owner, error) {
	if own.PID == 0 {
		o, err := Process(os.Getpid())
		if err != nil {
			return o, err
		}
		own = o
	}
	return own, nil
}
