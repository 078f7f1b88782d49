package main

import (
	"example.org/flock/internal/locks"
)

// acquireInTurn takes the lock. With --queue it tries, takes a place in the queue, and waits. The place is given up
// when the lock is held, before the command starts: who finds all places taken knows that a command is yet to start.
func (a *attempt) acquireInTurn(timeout locks.Timeout) error {
	saysThatItWaits := a.Reports || a.Verbose
	if a.queue != nil {
		defer a.queue.Unlock()
	} else if !saysThatItWaits {
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

// unlock releases the lock of the descriptor, for --unlock.
func (a *attempt) unlock() error {
	if a.Cooldown > 0 {
		if err := a.startCooldown(); err != nil {
			return err
		}
	}
	return a.lock.Unlock()
}

// undo undoes what acquire has done, before anything is done under the lock.
func (a *attempt) undo() {
	if a.Op == locks.Unlock {
		return
	}
	var failed error
	if a.Cooldown > 0 {
		failed = a.stopCooldown()
	}
	a.lock.Unlock()
	a.reportIfFailed(failed)
}
