//go:build unix

// Package lease is the program flock-NAME for a lock that a server keeps, but for the server: command line, messages,
// exit statuses, who gets the lock, how long to wait for an answer, signals, and the command, which does not outlive
// its lock. doc/backends.md says what a backend has to do itself.
//
// The server keeps a lock for a limited time, the TTL, after each time that it has heard from its holder. So the
// command may run only until
//
//	6/10 of the TTL after the last request that the server has answered was sent: it gets SIGTERM
//	8/10: it and all its descendants get SIGKILL
//	9/10: the kernel kills this program, if it is still there
//
// Package guard sees to that. What lies between the last one and the end of the TTL is for clocks that run at different
// speeds, and for the time that it takes to die.
package lease

import (
	"context"
	"errors"
	"syscall"
	"time"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/guard"
	"example.org/flock/internal/locks"
)

// A Backend is a server that keeps locks. It makes its requests by the Link that Program.Open has got.
type Backend interface {
	// Acquire waits for a lock, and gives up what it has asked for when it returns an error: ErrTaken if
	// Request.Refused says so, that of Link.Unreachable if the context's time is over, ErrLost if its place was lost
	// meanwhile. Then it is called again. Each time that it has to wait it says why: see Link.Taken and Link.Unknown.
	Acquire(ctx context.Context, r Request) (Held, error)

	// List returns the line of a lock, and the run that has got it last; nil: there was none. Both are of one moment.
	// Without a name it returns the lines of all locks, one after the other, and no run.
	List(ctx context.Context, name string) (Line, *LastRun, error)

	// Break takes a lock away from a holder, by its Key. If that is dead its cooldown ends, too.
	Break(ctx context.Context, key string) error
}

// Held is a lock that is held.
type Held interface {
	// Token returns a number that grows from one exclusive holder to the next; 0: there is none.
	Token() int64

	// Life returns how long the server keeps the lock, and since when: from before the last request was sent that it
	// has answered. It is on the clock of Now.
	Life() (since, ttl time.Duration)

	// Renew has the server keep the lock, and the cooldown that has begun with it, for the TTL from now on. It may be
	// called while another call is under way. The error is ErrLost if somebody else may have the lock already.
	Renew(ctx context.Context) error

	// Lost tells when the lock may be lost, if the server says so by itself; then Renew says whether it is. It is
	// called when the command has run for a moment, and again if the lock was not lost.
	Lost() <-chan struct{}

	// Release gives the lock up, and writes the end of the run, unless that is Killed, or the lock was lost while the
	// command ran: then the error is ErrLost. Nobody waits for that, so it takes a second at most, unless the command
	// has Ended or Failed.
	Release(ctx context.Context, end End) error
}

// An End is how a run has ended.
type End struct {
	Fate
	Status int            // of the command; if that was not started, of this program, or 0: it was not tried
	Signal syscall.Signal // that has killed the command; 0: none
}

// Written returns the status, or the signal instead of it, as they are written down; nil: there is none.
func (e End) Written() (status, signal *int) {
	number := int(e.Signal)
	switch {
	case number != 0:
		return nil, &number
	case e.Fate == NotStarted && e.Status == 0:
		return nil, nil
	}
	return &e.Status, nil
}

// A LastRun is the run that has got a lock last, as it was written down.
type LastRun struct {
	Contender           // the ID is that of its place in the line, while it has that; the Key is what it is written in
	Ended     time.Time // zero: that is not written
	Status    *int      // see End.Written
	Signal    *int
}

// A Fate is what became of a command, and so of the cooldown.
type Fate int

const (
	NotStarted Fate = iota // there is no cooldown: somebody else may be able to start it
	Killed                 // because the lock was lost: a cooldown that has begun with the command goes on
	Failed                 // there is no cooldown: it is from a success
	Ended                  // the cooldown begins now, unless it is from the start
)

// A CooldownFrom is what a cooldown counts from, and so what is left of one when its holder dies.
type CooldownFrom = cli.CooldownFrom

const (
	FromEnd     = cli.FromEnd     // it begins with the command, and each renewal of the lock prolongs it
	FromStart   = cli.FromStart   // it begins with the command, and nothing prolongs it
	FromSuccess = cli.FromSuccess // there is none before the command has ended: whoever dies has failed
)

// Now is the clock of Held.Life.
func Now() time.Duration { return guard.Now() }

var (
	ErrTaken   = locks.ErrConflict
	ErrTimeout = locks.ErrTimeout
	ErrLost    = errors.New("the lock is lost")
)

// An Error is why there is no lock, with the exit status, one of sysexits.h.
type Error = failure.Error

// Misused returns the error of a variable that is wrong, or with which no server can ever be connected.
func Misused(text string) error { return failure.Usage(text) }

// Refused returns the error of a server that refuses.
func Refused(text string) error { return &Error{Status: failure.ExDataErr, Text: text} }

// Denied returns the error of a server that refuses the user, or what the user may do.
func Denied(text string) error { return &Error{Status: failure.ExNoInput, Text: text} }

// Unavailable returns the error of a server that may do better the next time.
func Unavailable(text string) error { return &Error{Status: failure.ExTempFail, Text: text} }

// A Request says what a contender asks for.
type Request struct {
	Name     string
	Mode     Mode
	Permits  int           // how many may hold one at once
	Nonblock bool          // do not wait
	Queued   bool          // wait only if fewer than Queue wait
	Queue    int           // how many may wait
	Cooldown time.Duration // 0: none
	From     CooldownFrom
}

// A Program is the program of a backend.
type Program struct {
	Backend string // its name, as --backend has it
	Server  string // that of its server, for messages
	Place   string // what the server keeps for a holder, and might drop, for messages: "its key or its lease"
	Lease   string // that of these which ends if it is not kept alive: "its lease"
	Version string
	Help    string // NAME in it stands for the name under which it was started

	// Texts are what options of its own print, by their long names, such as what a server has to be told at first.
	Texts map[string]string

	Open func(l *Link) (Backend, error)
}
