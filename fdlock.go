package main

import (
	"example.org/flock/internal/failure"
	"example.org/flock/internal/locks"
)

// acquire takes the lock, or releases it, as the user asked for. --queue and --report are around the wait: it tries,
// takes a place in the queue, and waits. A place is given up when the lock is held, before the command starts: whoever
// finds all places taken knows that a command is yet to start.
func (a *attempt) acquire(timeout locks.Timeout) error {
	if a.Op == locks.Unlock {
		return a.release()
	}
	if !a.Queued && !a.Reports && !a.Verbose {
		return a.take(timeout)
	}
	var queue *locks.Chain
	if a.Queued {
		var err error
		if queue, err = locks.NewQueue(a.file, lockConfig(a.Options, a.out)); err != nil {
			return err
		}
		defer queue.Unlock()
	}
	if err := a.take(locks.Try); !locks.IsRefusal(err) || locks.IsDenied(err) || !timeout.Waits() {
		return err
	}
	if a.Queued {
		if err := queue.Lock(locks.Exclusive, timeout); err != nil {
			return err
		}
	}
	if a.Reports || a.Verbose {
		defer a.reportWait()()
	}
	return a.take(timeout)
}

// take takes the lock when the cooldown of its last holder is over, and begins the next one. With --remove the name
// must be that of the file which is open: otherwise the next contender would make a new file and lock that. The command
// line has no more than one of --cooldown and --remove.
func (a *attempt) take(timeout locks.Timeout) error {
	for {
		if a.Cooldown > 0 {
			// Before the lock, so that nobody holds it only to look at the time.
			if err := a.waitCooldown(timeout); err != nil {
				return err
			}
		}
		err := a.lock.Lock(a.Op, timeout)
		switch {
		case locks.IsRefusal(err), err == locks.ErrInterrupted:
			return err
		case a.Remove && !a.file.IsNamed():
			// Whether there was an error or not: the directory lock cannot follow a link whose file is gone.
			if err == nil {
				a.lock.Unlock()
			}
			if err := a.file.ReopenByName(); err != nil {
				return failure.Opening(a.file.Name, err)
			}
		case err != nil:
			return err
		case a.Cooldown > 0:
			isOver, err := a.renewCooldown()
			if isOver {
				return nil
			}
			a.lock.Unlock()
			if err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// giveUp undoes what acquire has done, before anything is done under the lock.
func (a *attempt) giveUp() {
	if a.Op != locks.Unlock {
		a.forgetCooldown(nil)
	}
	a.lock.Unlock()
}

// release releases the lock of the descriptor.
func (a *attempt) release() error {
	if a.Cooldown > 0 {
		if err := a.startCooldown(); err != nil {
			return err
		}
	}
	return a.lock.Unlock()
}
