package main

import (
	"errors"
	"math"
	"time"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/command"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/output"
	"example.org/flock/internal/sys"
)

// The end of a cooldown is the modification time of the lock file.

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

// waitCooldown waits for the end of the cooldown. It looks again and again, because somebody may move the end.
func (a *attempt) waitCooldown(timeout locks.Timeout) error {
	for {
		end, left, err := a.cooldownLeft()
		if err != nil || left <= 0 {
			return err
		}
		if err := timeout.Sleep(min(left, time.Second)); err != nil {
			return &locks.Refusal{Err: err, Why: "cooldown until " + output.FormatClock(end)}
		}
	}
}

// renewCooldown begins a cooldown if the one before it is over, and reports whether it is. It sets the end even if there
// is to be none before a success: who may not set it would run the command each time.
func (a *attempt) renewCooldown() (isOver bool, err error) {
	_, left, err := a.cooldownLeft()
	switch {
	case err != nil || left > 0:
		return false, err
	case a.CooldownFrom == cli.FromSuccess:
		err = a.stopCooldown()
	default:
		err = a.startCooldown()
	}
	return err == nil, err
}

// cooldownLeft returns when the cooldown ends, and the time until then.
func (a *attempt) cooldownLeft() (end time.Time, left time.Duration, err error) {
	end, err = a.file.ModTime()
	if err != nil {
		return end, 0, a.cooldownError("read", err)
	}
	return end, time.Until(end), nil
}

// endCooldown sets the end of the cooldown when the command has ended with this status or, because of err, was never
// started or cannot be waited for. If that fails, or is not to be, the cooldown which began with the lock goes on.
func (a *attempt) endCooldown(status int, err error) error {
	var wait *command.WaitError
	hasRun := err == nil || errors.As(err, &wait)
	switch {
	case a.Cooldown == 0:
		return nil
	case !hasRun:
		return a.stopCooldown()
	case err != nil, a.CooldownFrom == cli.FromStart, a.CooldownFrom == cli.FromSuccess && status != 0:
		return nil
	}
	return a.startCooldown()
}

// startCooldown sets the end of the cooldown, counted from now.
func (a *attempt) startCooldown() error { return a.setCooldown(time.Now().Add(a.Cooldown)) }

// stopCooldown ends the cooldown.
func (a *attempt) stopCooldown() error { return a.setCooldown(time.Now()) }

// last32 is the last second that a filesystem with times of 32 bits has. Some keep a later one modulo 2^32, that is as
// one in the past, and do not say so; others keep the last one that they have, as Linux does.
var last32 = time.Unix(math.MaxInt32, 0)

var errNotKept = errors.New("its filesystem does not keep that time")

func (a *attempt) setCooldown(end time.Time) error {
	err := a.setAndReadBack(end)
	if err == errNotKept && end.After(last32) {
		err = a.setAndReadBack(last32)
	}
	if err != nil {
		return a.cooldownError("set", err)
	}
	return nil
}

// setAndReadBack sets the end of the cooldown. The error is errNotKept if the file has an earlier one then, before the
// end of 32 bits.
func (a *attempt) setAndReadBack(end time.Time) error {
	if err := a.file.SetModTime(end); err != nil {
		return err
	}
	const coarsest = 2 * time.Second // of FAT
	kept, err := a.file.ModTime()
	if err == nil && kept.Before(last32) && end.Sub(kept) >= coarsest {
		return errNotKept
	}
	return err
}

func (a *attempt) cooldownError(what string, err error) error {
	if sys.BadDescriptor(err) {
		return locks.FileError(a.file, err)
	}
	return failure.New(failure.ExOSErr, "cannot "+what+" the cooldown of "+a.file.Name, err)
}
