package main

import (
	"errors"
	"time"

	"example.org/flock/internal/command"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/output"
	"example.org/flock/internal/sys"
)

// The end of a cooldown is the modification time of the lock file.

// waitCooldown waits for the end of the cooldown. It looks again and again, because somebody may move the end.
func (a *attempt) waitCooldown(limit locks.Limit) error {
	for {
		end, left, err := a.cooldownLeft()
		if err != nil || left <= 0 {
			return err
		}
		if err := limit.Sleep(min(left, time.Second)); err != nil {
			return &locks.Refusal{Err: err, Why: "cooldown until " + output.FormatClock(end)}
		}
	}
}

// renewCooldown begins a cooldown if the one before it is over, and reports whether it is.
func (a *attempt) renewCooldown() (isOver bool, err error) {
	_, left, err := a.cooldownLeft()
	if err != nil || left > 0 {
		return false, err
	}
	err = a.startCooldown()
	return err == nil, err
}

// cooldownLeft returns when the cooldown ends, and the time until then.
func (a *attempt) cooldownLeft() (end time.Time, left time.Duration, err error) {
	end, err = a.file.ModTime()
	if err != nil {
		return end, 0, a.cooldownError(err)
	}
	return end, time.Until(end), nil
}

// startCooldown sets the end of the cooldown, counted from now.
func (a *attempt) startCooldown() error {
	if err := a.file.SetModTime(time.Now().Add(a.Cooldown)); err != nil {
		return a.cooldownError(err)
	}
	return nil
}

// forgetCooldown ends the cooldown that began with a command if the command could not be started.
func (a *attempt) forgetCooldown(err error) {
	var start *command.StartError
	if a.Cooldown == 0 || !errors.As(err, &start) {
		return
	}
	if err := a.file.SetModTime(time.Now()); err != nil {
		failure.Report(a.out, a.cooldownError(err))
	}
}

func (a *attempt) cooldownError(err error) error {
	if sys.BadDescriptor(err) {
		return locks.FileError(a.file, err)
	}
	return failure.New(output.ExOSErr, "cannot set the cooldown of "+a.file.Name, err)
}
