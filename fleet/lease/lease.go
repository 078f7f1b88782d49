//go:build unix

// Package lease is a program flock-NAME without its server: command line, messages, exit statuses, who gets
// the lock, how long to wait for an answer, signals, and the command, which does not outlive its lock. doc/backends.md
// says what a backend must do itself.
//
// The server keeps a lock for a limited time, the TTL, after each time that it hears from the holder. So the command
// may run only for a part of the TTL, counted from when the last request was sent that the server has answered:
//
//	6/10: it gets SIGTERM
//	8/10: it and all its descendants get SIGKILL
//	9/10: the kernel kills this program, if it is still there
//
// Package guard enforces this. The last tenth of the TTL is for clocks that run at different speeds, and for the time
// that it takes to die.
package lease

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"time"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/guard"
	"example.org/flock/internal/locks"
)

// A Backend is a server that keeps locks. It makes its requests by the Link that Program.Open got.
type Backend interface {
	// Contend returns the lock that a claim asks for. Nothing is asked of the server yet.
	Contend(c Claim) Lock

	// List returns the line of a lock, and the last run that got it; nil: there was none. Both are of one moment.
	// Without a name it returns the lines of all locks, which may be interleaved, and no run.
	List(ctx context.Context, name string) (Line, *LastRun, error)

	// Break takes a lock away from the holder with this Key. If the holder is dead, its cooldown ends, too.
	Break(ctx context.Context, key string) error
}

// An End says how a run has ended.
type End struct {
	Fate
	Status int            // of the command; if that was not started, of this program, or 0: it was not tried
	Signal syscall.Signal // that killed the command; 0: none
	Cools  time.Duration  // how long the cooldown lasts from now on; 0 or less: there is none
}

// Written returns the status or, instead of it, the signal, as a backend writes them down; nil: there is none.
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

// A LastRun is the last run that got a lock, as a backend writes it down.
type LastRun struct {
	Contender       // List sets the ID to that of its place in the line, and the Key to where it is written
	Token     int64 `json:"token,omitempty"`  // of an exclusive holder
	Ended     int64 `json:"ended,omitempty"`  // Unix time; 0: not written
	Status    *int  `json:"status,omitempty"` // see End.Written
	Signal    *int  `json:"signal,omitempty"`
}

// A Fate says what became of a command.
type Fate int

const (
	NotStarted Fate = iota // somebody else may be able to start it
	Killed                 // because the lock was lost
	Ended
)

// A CooldownFrom says what a cooldown counts from, and so what is left of one when its holder dies.
type CooldownFrom = cli.CooldownFrom

const (
	FromEnd     = cli.FromEnd     // it begins with the command, and each renewal of the lock prolongs it
	FromStart   = cli.FromStart   // it begins with the command, and nothing prolongs it
	FromSuccess = cli.FromSuccess // there is none before the command has ended: a holder that dies has failed
)

// Now reads the clock of a Life.
func Now() time.Duration { return guard.Now() }

var (
	// The errors of Step, Renew and Release.
	ErrTaken   = locks.ErrConflict
	ErrTimeout = locks.ErrTimeout
	ErrLost    = errors.New("the lock is lost")
)

// An Error says why there is no lock, and has the exit status, one of sysexits.h.
type Error = failure.Error

// Misused returns the error for a variable that is invalid, or with which no connection can ever succeed. For all of
// these, a second line of the text is the hint.
func Misused(text string) error { return newError(failure.ExUsage, text) }

// Refused returns the error for a server that refuses.
func Refused(text string) error { return newError(failure.ExDataErr, text) }

// Denied returns the error for a server that denies access to the user, or an operation.
func Denied(text string) error { return newError(failure.ExNoInput, text) }

// Unavailable returns the error for a server that may answer the next time.
func Unavailable(text string) error { return newError(failure.ExTempFail, text) }

func newError(status int, text string) error {
	text, hint, _ := strings.Cut(text, "\n")
	return &Error{Status: status, Text: text, Hint: hint}
}

// A Claim says what a contender asks for.
type Claim struct {
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
	Server  string // the name of its server, for messages
	Place   string // what the server keeps for a holder, and might lose, for messages: "its key or its lease"
	Lease   string // the part of Place that expires if it is not kept alive: "its lease"
	Version string
	Help    string // NAME in it stands for the name under which it was started

	// Texts are what its own options print, by their long names, such as how to set up a server.
	Texts map[string]string

	Open func(l *Link) (Backend, error)
}
