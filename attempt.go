package main

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/cstart"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/holders"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/output"
)

// An attempt is a run's try to lock: what the user asked for, on which open file.
type attempt struct {
	*cli.Options
	out    *output.Printer
	file   *lockfile.File
	lock   *locks.Chain // the mechanisms; one of them serves
	queue  *locks.Chain // with --queue, likewise
	ticket locks.Ticket // with --replace, when it has the lock
}

func newAttempt(o *cli.Options, out *output.Printer, f *lockfile.File) (*attempt, error) {
	config := lockConfig(o, out)
	a := &attempt{Options: o, out: out, file: f, lock: locks.New(f, config)}
	if !o.Queued {
		return a, nil
	}
	var err error
	a.queue, err = locks.NewQueue(f, config)
	return a, err
}

// lockConfig returns what the user wants of the mechanisms.
func lockConfig(o *cli.Options, out *output.Printer) locks.Config {
	c := mechanisms(o.Backend)
	if o.Replace { // the others would cover the bytes of tickets, or have none
		c.Fcntl, c.Directory = false, false
	}
	c.Range, c.Permits = o.Range, o.Permits
	if o.Queued {
		c.Queue = o.Queue
	}
	c.Warn, c.WarnVerbose = out.Warn, out.WarnVerbose
	return c
}

// mechanisms returns a configuration with the mechanisms of a backend.
func mechanisms(b cli.Backend) (c locks.Config) {
	c.Flock = b == cli.Auto || b == cli.Native || b == cli.Flock
	c.Fcntl = b == cli.Auto || b == cli.Native || b == cli.Fcntl
	c.Directory = b == cli.Auto || b == cli.Directory
	c.StateBase = stateBase()
	return c
}

// stateBase returns FLOCK_DIR. It is looked up once: a report beside the wait may ask while the environment of the
// command is changed.
var stateBase = sync.OnceValue(func() string {
	value, _ := cstart.Getenv("FLOCK_DIR")
	return value
})

// neededAccess returns what a lock file must be open for.
func neededAccess(b cli.Backend, op locks.Op, permits int) lockfile.Access {
	switch {
	case b == cli.Directory: // it locks no byte
		return lockfile.Read
	case permits > 0:
		return lockfile.ReadWrite
	case b == cli.Fcntl && op == locks.Exclusive:
		return lockfile.Write // F_WRLCK needs a descriptor that is open for writing
	}
	return lockfile.Read
}

// writingHint is the hint for a program that the lock file keeps from being executed, or that keeps the lock file from
// being opened, because it is open for writing; "" if it is not, or err has another cause.
func writingHint(o *cli.Options, err error) string {
	what := "--permits"
	access := neededAccess(o.Backend, o.Op, o.Permits)
	if access == lockfile.Write {
		what = "an exclusive lock of fcntl(2)"
	}
	if access == lockfile.Read || !errors.Is(err, syscall.ETXTBSY) {
		return ""
	}
	return what + " must open the lock file for writing, which fails while it is executed: " +
		"use a separate lock file, in a script \"$0.lock\""
}

// With --replace a run has a ticket as long as it lasts, and the newest ticket wins. A run that waits looks itself
// whether a newer one has come. For one that has the lock the guard of its command looks, because flock may be stopped.

// acquireAsNewest takes the lock if no newer run has come. If one comes while this one waits, this process ends.
func (a *attempt) acquireAsNewest(timeout locks.Timeout) error {
	// To take a ticket would end the run that waits for this one, and this one with it. That an ancestor has only the
	// lock is no reason: it may be a shell that starts this run in the background and then releases the lock.
	if h := holders.AncestorWithTicket(a.file); h.PID != 0 {
		return &failure.Error{Status: a.ConflictExit, Text: a.file.Name + " is " + ancestorText(h)}
	}
	ticket, bell, err := locks.TakeTicket(a.file)
	if err != nil {
		return err
	}
	isReplaced, stop, err := ticket.Watch(bell)
	if err != nil {
		return err
	}
	stopped := make(chan struct{})
	go func() { // the lock call waits in the first thread, which the timer of -w interrupts
		if <-isReplaced {
			a.file.Close() // gives up the lock, should it be granted meanwhile: nobody may read the line
			os.Exit(a.out.Status(a.reportReplaced()))
		}
		close(stopped)
	}()
	err = a.acquireInTurn(timeout)
	stop()
	<-stopped // never, if this run is replaced
	switch {
	case err != nil:
		return err
	case !ticket.IsNewest():
		a.lock.Unlock()
		return locks.ErrReplaced
	}
	a.ticket = ticket
	return nil
}

// reportReplaced says that a newer run has come, and returns the exit status.
func (a *attempt) reportReplaced() (status int) {
	a.out.Note(a.file.Name + ": " + locks.ErrReplaced.Error())
	return a.ConflictExit
}
