package fallback

import (
	"context"
	"errors"
	"time"

	"example.org/flock/fallback/openfile"
)

// A Request says which lock to take, and how long to wait.
type Request struct {
	Mode     Mode
	Permits  int       // for Mode Permit: how many holders of a permit there may be at once, this one included
	Try      bool      // do not wait
	Deadline time.Time // when to give up; zero: never. That of the context counts, too
}

// An attempt is one call that wants something of a lock.
type attempt struct {
	system
	ctx       context.Context // of the call; its deadline is that of the request, too
	self      *namedLifeline  // of the Lock
	holding   holding
	inherited string // the ID of the lifeline, for byInherited
	request   Request
	began     time.Time
	permit    int // the number of the permit that we get or have got; 0: none

	isTokenInDoubt bool // it may be ours although it should not, see renameToken

	// What searches have shown, by the names of records: where its open file is, and whether nobody has it any more.
	found      map[string]*openfile.File
	provenOver map[string]bool
}

// A namedLifeline stands for a Lock in the state directory, while it waits and while it holds.
type namedLifeline struct {
	id       string
	name     string // "": there is none
	lifeline lifeline
}

// A holding is what has the lock when it is held.
type holding uint8

const (
	byLifeline  holding = iota // that of the Lock itself
	byOpenFile                 // our descriptor's, by its mark
	byInherited                // another one, which our descriptor has inherited
)

// An outcome says how far an attempt has come. Beside an error it means nothing.
type outcome struct {
	how     progress
	keepers []record // who keeps it out, if that is how
}

type progress uint8

const (
	done      progress = iota // it has done what it was to do
	keptOut                   // somebody keeps it out
	again                     // something has changed meanwhile: it has to look again
	cancelled                 // the context was cancelled
)

// isOver reports whether there is no more time for who is kept out.
func (a *attempt) isOver() bool { return a.request.Try || a.isLate() }

// isLate reports whether the deadline has passed.
func (a *attempt) isLate() bool {
	return !a.request.Deadline.IsZero() && !a.Now().Before(a.request.Deadline)
}

// isCancelled reports whether the caller wants to wait no longer, for another reason than a deadline.
func (a *attempt) isCancelled() bool {
	err := a.ctx.Err()
	return err != nil && !errors.Is(err, context.DeadlineExceeded)
}
