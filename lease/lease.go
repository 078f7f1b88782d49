//go:build unix

// Package lease is the program flock-NAME for a lock that a server keeps, but for the server: command line, messages,
// exit statuses, signals, and the command, which does not outlive its lock.
//
// The server keeps a lock for a limited time, the TTL, after each time that it has heard from its holder. So the command may
// run only until
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
	"time"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/locks"
	"example.org/flock/lease/guard"
)

// A Backend is a server that keeps locks.
type Backend interface {
	// Acquire waits for a lock, and gives up what it has asked for when it returns an error: ErrTaken if the lock is taken
	// and the request does not wait, ErrTimeout if it is taken and the context's time is over. Of the TTL of a lock less than
	// three tenths are over.
	Acquire(ctx context.Context, r Request) (Held, error)

	// List returns who has a lock and who waits for it, in their order, or those of all locks without a name.
	List(ctx context.Context, name string) ([]Contender, error)

	// Break takes a lock away from a holder, by its Key.
	Break(ctx context.Context, key string) error
}

// Held is a lock that is held.
type Held interface {
	// Token returns a number that grows from one exclusive holder to the next; 0: there is none.
	Token() int64

	// Life returns how long the server keeps the lock, and since when: from before the last request was sent that it has
	// answered. It is on the clock of Now.
	Life() (since, ttl time.Duration)

	// Renew has the server keep the lock for the TTL from now on. It may be called while another call is under way. The error
	// is ErrLost if somebody else may have the lock already.
	Renew(ctx context.Context) error

	// Lost tells when the lock may be lost, if the server says so by itself; then Renew says whether it is. It is called when
	// the command has run for a moment, and again if the lock was not lost.
	Lost() <-chan struct{}

	// Release gives the lock up. The error is ErrLost if it was lost while the command ran. If the command has not run, or
	// has been killed, nobody waits for that, so it takes a second at most.
	Release(ctx context.Context, ran bool) error
}

// Now is the clock of Held.Life.
func Now() time.Duration { return guard.Now() }

var (
	ErrTaken   = locks.ErrConflict
	ErrTimeout = locks.ErrTimeout
	ErrLost    = errors.New("the lock is lost")
)

// An Error is why there is no lock, with the exit status, one of sysexits.h.
type Error = failure.Error

// A Mode is how a contender wants a lock.
type Mode string

const (
	Exclusive Mode = "exclusive"
	Shared    Mode = "shared"
	Permit    Mode = "permit"
	Cooldown  Mode = "cooldown" // of a Contender that is none: nobody gets the lock who respects the cooldown
)

// A Request says what a contender asks for.
type Request struct {
	Name     string
	Mode     Mode
	Permits  int           // how many may hold one at once
	Nonblock bool          // do not wait
	Queued   bool          // wait only if fewer than Queue wait
	Queue    int           //
	Cooldown time.Duration // after the command; 0: none

	Warn func(text string) // says a line to the user

	// Tell tells ErrTaken each time that it is seen that somebody else has the lock. Another error is why the server does not
	// answer, and nil that it does again: that is when a request has had no answer for four tenths of the TTL, or for two
	// tenths, when the lock is held.
	Tell func(why error)
}

// A Contender has a lock or waits for it.
type Contender struct {
	Mode  Mode
	Waits bool
	Host  string
	PID   int
	User  string
	Since time.Time // when it came or, if it holds the lock, got that
	Until time.Time // of a cooldown
	Key   string    // for Break
}

// A Program is the program of a backend.
type Program struct {
	Backend string // its name
	Version string
	Help    string // NAME in it stands for the name under which it was started
	Open    func(warn func(text string)) (Backend, error)
}
