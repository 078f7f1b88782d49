package fallback

import (
	"context"
	"errors"
	"time"
)

// A Request says which lock to take, and whether to wait. Its context says for how long.
type Request struct {
	Mode    Mode
	Permits int  // for Mode Permit: how many holders of a permit there may be at once, this one included
	Try     bool // do not wait
}

// An attempt is one call that wants something of a lock.
type attempt struct {
	system
	ctx     context.Context // of the call
	self    *namedLifeline  // of the Lock
	isFile  bool            // the open file of our descriptor is to have the lock, by its mark, and not the lifeline
	request Request
	began   time.Time
	permit  int // the number of the permit that we get or have got; 0: none

	isTokenInDoubt bool      // it may be ours although it should not, see renameToken
	searchedInVain time.Time // when a search has left something lost that it could not write into the names
}

// A namedLifeline stands for a Lock in the state directory, while it waits and while it holds.
type namedLifeline struct {
	id       string
	name     string // "": there is none
	lifeline lifeline
}

// isOver reports whether there is no more time for who is kept out.
func (a *attempt) isOver() bool { return a.request.Try || a.isLate() }

// isLate reports whether the deadline has passed.
func (a *attempt) isLate() bool {
	deadline, has := a.ctx.Deadline()
	return has && !a.Now().Before(deadline)
}

// isCancelled reports whether the caller wants to wait no longer, for another reason than a deadline.
func (a *attempt) isCancelled() bool {
	err := a.ctx.Err()
	return err != nil && !errors.Is(err, context.DeadlineExceeded)
}
