package main

import "time"

// The cooldown of a lock lasts until the modification time of its file, while
// that is in the future.

// acquire locks. With --cooldown it does so when the cooldown is over, and
// starts a new one; it does not hold the lock while it waits for that.
func acquire(p *printer, f *lockFile, o *options) error {
	if o.cooldown == 0 {
		return lock(p, f, o)
	}
	if o.op == unlock {
		if err := f.startCooldown(o); err != nil {
			return err
		}
		return lock(p, f, o)
	}
	for {
		if err := lock(p, f, o); err != nil {
			return err
		}
		left, err := f.cooldownLeft()
		if err == nil && left <= 0 {
			err = f.startCooldown(o)
			if err == nil {
				return nil
			}
		}
		f.release()
		if err == nil {
			err = waitCooldown(left, o)
		}
		if err != nil {
			return err
		}
	}
}

// waitCooldown waits for the rest of a cooldown, or for a while: somebody may
// move its end.
func waitCooldown(left time.Duration, o *options) error {
	if o.nonblock {
		return errConflict
	}
	left = min(left, 100*time.Millisecond)
	if o.limited {
		time := time.Until(o.deadline)
		if time <= 0 {
			return errTimeout
		}
		left = min(left, time)
	}
	time.Sleep(left)
	return nil
}

// cooldownLeft returns the time until the cooldown is over.
func (f *lockFile) cooldownLeft() (time.Duration, error) {
	end, err := f.modTime()
	if err != nil {
		return 0, &stepError{cooling, f.name, err}
	}
	return time.Until(end), nil
}

// startCooldown sets when the cooldown ends, counted from now.
func (f *lockFile) startCooldown(o *options) error {
	if err := f.setModTime(time.Now().Add(o.cooldown)); err != nil {
		return &stepError{cooling, f.name, err}
	}
	return nil
}
