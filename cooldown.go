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
		// Before, so that only those take the lock whose turn it can be.
		if err := waitCooldown(p, f, o); err != nil {
			return err
		}
		if err := lock(p, f, o); err != nil {
			return err
		}
		_, left, err := f.cooldownLeft()
		if err == nil && left <= 0 {
			if err = f.startCooldown(o); err == nil {
				return nil
			}
		}
		f.release()
		if err != nil {
			return err
		}
	}
}

// waitCooldown waits for the end of the cooldown. It looks again and again, as
// somebody may move the end.
func waitCooldown(p *printer, f *lockFile, o *options) error {
	tell := func(end time.Time) {
		if o.verbose {
			p.warn("cooldown until " + clock(end))
		}
	}
	for {
		end, left, err := f.cooldownLeft()
		switch {
		case err != nil || left <= 0:
			return err
		case o.nonblock:
			tell(end)
			return errConflict
		}
		if o.abandoned() {
			return errConflict
		}
		pause := min(left, 100*time.Millisecond)
		if o.limited {
			rest := time.Until(o.deadline)
			if rest <= 0 {
				tell(end)
				return errTimeout
			}
			pause = min(pause, rest)
		}
		time.Sleep(pause)
	}
}

// cooldownLeft returns when the cooldown is over, and the time until then.
func (f *lockFile) cooldownLeft() (time.Time, time.Duration, error) {
	end, err := f.modTime()
	if err != nil {
		return end, 0, &stepError{cooling, f.name, err}
	}
	return end, time.Until(end), nil
}

// startCooldown sets when the cooldown ends, counted from now.
func (f *lockFile) startCooldown(o *options) error {
	if err := f.setModTime(time.Now().Add(o.cooldown)); err != nil {
		return &stepError{cooling, f.name, err}
	}
	return nil
}
