package main

import (
	"errors"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/locks"
)

// acquire takes the lock, or releases it, as the user asked for.
func (a *attempt) acquire(timeout locks.Timeout) error {
	switch {
	case a.Op == locks.Unlock:
		return a.unlock()
	case a.Replace:
		return a.acquireAsNewest(timeout)
	}
	return a.acquireInTurn(timeout)
}

// acquireInTurn takes the lock. With --queue it tries, takes a place in the queue, and waits. The place is given up
// when the lock is held, before the command starts: who finds all places taken knows that a command is yet to start.
func (a *attempt) acquireInTurn(timeout locks.Timeout) error {
	saysThatItWaits := a.Reports || a.Verbose
	isOption := timeout.Waits() && a.HasOptionAsCommand() && !isProgram(a.Command[0]) // behind the file
	if a.queue != nil {
		defer a.queue.Unlock()
	} else if !saysThatItWaits && !isOption {
		return a.take(timeout) // the lock call waits
	}
	err := a.take(locks.Try)
	hasToWait := locks.IsRefusal(err) && !locks.IsDenied(err)
	if !hasToWait || !timeout.Waits() {
		return err
	}
	if a.queue != nil {
		if err := a.queue.Lock(locks.Exclusive, timeout); err != nil {
			return err
		}
	}
	if isOption { // with -n, for instance, the user does not expect to wait
		a.out.Note("'" + a.Command[0] + "' is taken for the command, which waits for the lock")
		a.out.Note(cli.OptionsGoBefore)
	}
	if saysThatItWaits {
		stop := a.reportWait()
		defer stop()
	}
	return a.take(timeout)
}

// take takes the lock. The command line has no more than one of --cooldown and --remove.
func (a *attempt) take(timeout locks.Timeout) error {
	switch {
	case a.Cooldown > 0:
		return a.takeAfterCooldown(timeout)
	case a.Remove:
		return a.takeNamed(timeout)
	}
	return a.lock.Lock(a.Op, timeout)
}

// takeAfterCooldown takes the lock when the cooldown of its last holder is over, and begins the next one. It waits for
// that without the lock, so that nobody holds it only to look at the time.
func (a *attempt) takeAfterCooldown(timeout locks.Timeout) error {
	for {
		if err := a.waitCooldown(timeout); err != nil {
			return err
		}
		if err := a.lock.Lock(a.Op, timeout); err != nil {
			return err
		}
		isOver, err := a.renewCooldown()
		if isOver {
			return nil
		}
		a.lock.Unlock()
		if err != nil {
			return err
		}
	}
}

// takeNamed takes the lock on the file that has the name. A holder may have removed the one that is open: its lock
// would keep nobody out, because the next contender makes a new file and locks that.
func (a *attempt) takeNamed(timeout locks.Timeout) error {
	for {
		err := a.lock.Lock(a.Op, timeout)
		switch {
		case locks.IsRefusal(err), errors.Is(err, locks.ErrInterrupted):
			return err
		case a.file.IsNamed():
			return err
		case err == nil:
			a.lock.Unlock()
		default: // it may come of the removal: the directory lock cannot follow a link whose file is gone
		}
		if err := a.file.ReopenByName(); err != nil {
			return failure.Opening(a.file.Name, err)
		}
	}
}

// undo undoes what acquire has done, before anything is done under the lock.
func (a *attempt) undo() {
	if a.Op == locks.Unlock {
		return
	}
	failed := a.forgetCooldown(false)
	a.lock.Unlock()
	a.reportIfFailed(failed)
}

// unlock releases the lock of the descriptor, for --unlock.
func (a *attempt) unlock() error {
	if a.Cooldown > 0 {
		if err := a.startCooldown(); err != nil {
			return err
		}
	}
	return a.lock.Unlock()
}
