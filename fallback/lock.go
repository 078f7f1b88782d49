package fallback

import (
	"context"
	"errors"

	"example.org/flock/fallback/openfile"
)

// A Lock is one holder's access to the lock on a file. Open makes one. Do not call its methods concurrently; processes,
// and several Locks of one process, need no other coordination. While it holds the lock it has two descriptors open, or
// none if an open file has the lock. When the process ends, it releases everything that it holds, also by a Lock that
// the caller has dropped. All calls of the zero Lock fail.
type Lock struct {
	// Waiting, if it is not nil, is called once in each call that has waited for a second.
	Waiting func(*LockedError)

	dir   string // the state directory
	path  string // of the locked file
	fd    int    // the descriptor whose open file has the lock; -1: none, a lifeline has it
	file  int    // a descriptor of the locked file; -1: none
	got   int    // the number of the permit; 0: none
	state *stateDir
	self  namedLifeline
}

// Open returns the lock on the file called path for this process, with the state directory dir: see StateDir. The file
// need not exist, but the directory around the state directory must. file is a descriptor of the locked file, which
// identifies it while its name is being removed, or -1.
func Open(dir, path string, file int) *Lock { return &Lock{dir: dir, path: path, fd: -1, file: file} }

// OpenQueue returns a lock whose permits are the places of the waiters for the lock with the state directory dir. Its
// own state is beside that, and not inside: Discard of the lock does not remove the places.
func OpenQueue(dir, path string) *Lock { return Open(dir+queueSuffix, path, -1) }

// PermitNumber returns the number of the permit that the last call for a lock got, 0 if it asked for none, or failed.
// The number is from 1 to n, and no other holder has it as long as this one has the permit. It is the lowest free one,
// or the one that was held before.
func (l *Lock) PermitNumber() int { return l.got }

// Acquire takes the lock as the request says. If the deadline of ctx passes first, it returns a *LockedError; if ctx is
// cancelled, the error of ctx. If the deadline has passed already, it still takes a lock that is free. While others are
// taking it, one after the other, it waits beyond the deadline.
//
// If this Lock already holds the lock, Acquire converts it. If others keep a conversion out, it gives up the lock that
// it had, as with flock(2). So does one that fails otherwise, or whose ctx is cancelled; only the lock of an open file
// may stay.
//
// With Try it returns a *LockedError at once if others hold the lock. If another process is just taking it, Acquire
// waits for that: some milliseconds, the time of a search, or a second if that process is stopped.
func (l *Lock) Acquire(ctx context.Context, r Request) error {
	l.got = 0
	switch {
	case r.Mode < Exclusive, r.Mode > Permit:
		return errors.New("fallback: the mode must be Exclusive, Shared or Permit")
	case r.Mode == Permit && r.Permits < 1:
		return errors.New("fallback: there must be at least one permit")
	}
	s, err := l.begin(true)
	if err != nil {
		return err
	}
	a := newAttempt(ctx, s, l, r)
	var tell func([]record)
	if l.Waiting != nil {
		tell = func(keepers []record) { l.Waiting(l.lockedBy(a, keepers)) }
	}
	isHeld, keepers, err := a.acquire(tell)
	l.end(a, isHeld)
	switch {
	case err != nil:
		return &stateDirError{"cannot lock", l.dir, err}
	case len(keepers) > 0:
		return l.lockedBy(a, keepers)
	case !isHeld:
		return ctx.Err()
	}
	l.got = a.permit
	return nil
}

// end ends an attempt to lock. If our lifeline has the lock, it and the state directory stay open.
func (l *Lock) end(a *attempt, isHeld bool) {
	switch {
	case isHeld && !a.isFile:
		return
	case a.isTokenInDoubt:
		a.forget() // the lifeline keeps its name, and tells whoever finds the token ours that we are dead
	default:
		a.leave()
	}
	l.closeState()
}

// Inherit makes the processes that this one starts from now on inherit the lock, and the program that it becomes. Then
// the lock lasts until the last of them has ended, or has closed the descriptor. The lock of an open file always does.
//
// They also inherit fd, the descriptor of the locked file. On Linux the lifeline takes its number, and the file another
// one, which Inherit returns: what they do to the number fd, they do to the lock. If fd is below 3, neither moves.
func (l *Lock) Inherit(fd int) (moved int, err error) {
	if l.self.name == "" {
		return fd, nil
	}
	l.self.lifeline, moved, err = l.self.lifeline.inherit(fd)
	return moved, err
}

// Lifeline returns the descriptor of the lifeline, -1 if there is none; on Windows its handle.
func (l *Lock) Lifeline() int {
	if l.self.name == "" {
		return -1
	}
	return int(l.self.lifeline)
}

// Unlock releases what this Lock holds, in whatever mode. Processes that have inherited the lock keep it. To hold
// nothing is no error.
func (l *Lock) Unlock() error { return l.unlock((*attempt).release) }

// Discard is Unlock, and removes the state directory if nobody else uses the lock. No process may have inherited it.
func (l *Lock) Discard() error { return l.unlock((*attempt).discard) }

func (l *Lock) unlock(release func(*attempt) error) error {
	if l.state == nil && l.fd < 0 {
		return nil // nothing is held
	}
	l.got = 0
	s, err := l.begin(false)
	if isAbsent(err) { // somebody has removed the directory
		if l.fd >= 0 {
			(&openfile.Table{FD: l.fd}).Unmark()
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer l.closeState()
	if err := ignoreAbsent(release(newAttempt(context.Background(), s, l, Request{}))); err != nil {
		return &stateDirError{"cannot unlock", l.dir, err}
	}
	return nil
}

// Contenders returns the holders of the lock, including those on other machines, and then the waiters. On Linux all
// processes that have the lock are holders. A state directory that does not exist has none.
func (l *Lock) Contenders() ([]Contender, error) {
	reader := &Lock{dir: l.dir, path: l.path, fd: -1, file: l.file} // the lock of our descriptor has a holder as well
	s, err := reader.begin(false)
	if err != nil {
		return nil, ignoreAbsent(err)
	}
	defer reader.closeState()
	holders, err := newAttempt(context.Background(), s, reader, Request{}).everybody(l.dir)
	if err != nil {
		return nil, &stateDirError{"cannot read", l.dir, err}
	}
	return holders, nil
}

// begin begins a call. Without make, a state directory that is not there is fs.ErrNotExist.
func (l *Lock) begin(make bool) (*thisSystem, error) {
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
	return &thisSystem{l.state, openfile.Table{Path: l.path, Opened: l.file, FD: l.fd}}, nil
}

func (l *Lock) closeState() {
	if l.state != nil {
		l.state.close()
		l.state = nil
	}
}

// newAttempt returns an attempt with a Lock.
func newAttempt(ctx context.Context, s system, l *Lock, r Request) *attempt {
	return &attempt{system: s, ctx: ctx, self: &l.self, isFile: l.fd >= 0, request: r, began: s.Now()}
}

// lockedBy returns the error of who is kept out.
func (l *Lock) lockedBy(a *attempt, keepers []record) *LockedError {
	e := &LockedError{Dir: l.dir}
	for _, r := range keepers {
		h := a.describe(l.dir, r)
		switch {
		case h.Where != "" || h.Mode == Busy:
		case h.Seen && r.file != nil && r.file.Start != r.file.LockerStart:
			// All that is known of it is the mark, which a program can also have set for purposes of its own.
			h.Where = "that has the file open with " + r.file.Mark.String() + ", as a holder has"
		case !h.Seen && a.isIDReused(r):
			h.PID, h.Where = 0, "that has inherited it"
		}
		e.Holders = append(e.Holders, h)
	}
	return e
}
