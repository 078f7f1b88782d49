package main

import (
	"os"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/holders"
	"example.org/flock/internal/locks"
)

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
	replaced, stop, err := ticket.Watch(bell)
	if err != nil {
		return err
	}
	stopped := make(chan struct{})
	go func() { // the lock call waits in the first thread, which the timer of -w interrupts
		if <-replaced {
			a.file.Close() // gives up the lock, should it be granted meanwhile: nobody may read the line
			os.Exit(a.out.Status(a.reportReplaced()))
		}
		close(stopped)
	}()
	err = a.acquireInTurn(timeout)
	stop()
	<-stopped         // never, if this run is replaced
	a.ticket = ticket // which the guard looks at before it starts the command
	return err
}
