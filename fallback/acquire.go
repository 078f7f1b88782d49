package fallback

import (
	"errors"
	"io/fs"
	"slices"
	"time"
)

const (
	// stuck is how long a busy token must stay the same to be a conflict.
	stuck = time.Second
	// doubtful is how long a record must be in doubt to be a conflict, and how long after the deadline a search ends. One
	// that has to follow hundreds of new processes a second, or a process that moves its descriptors all the time, takes some
	// seconds on a busy machine.
	doubtful = 15 * time.Second
	// shortestPause is how long to wait for somebody who is taking or releasing the lock.
	shortestPause = time.Millisecond
)

// A pauser is how an acquire waits. The test that runs every interleaving has its own.
type pauser interface {
	// pause returns when the lock may have become free for us, or at the deadline. passing says that what keeps us out
	// may be over in a moment: somebody is taking or releasing the lock, or not all could be seen.
	pause(blockers []record, passing bool) error
	// done ends the wait.
	done()
}

// acquire attempts until the lock is ours (nil, nil) or the deadline has passed: then it returns who has it.
func (c *call) acquire(p pauser) (blockers []record, err error) {
	defer p.done()
	if now := c.Now(); c.Try || !c.Deadline.IsZero() && c.Deadline.Before(now) {
		c.Deadline = now // from here on counts what may be over in a moment
	}
	for {
		// Mostly the lock is free, now or when an exclusive holder has released it. A rename that fails costs less than a look.
		if !c.canSlip() && (blockers == nil || blockers[0].word == excl) {
			if _, err := c.move(free, c.busy); err != nil {
				return nil, err
			}
		}
		blockers, err = c.attempt()
		if err != nil || blockers == nil {
			return nil, err
		}
		now, passing := c.Now(), c.isPassing(blockers, c.patience())
		if blockers[0].name != c.blocker {
			c.blocker, c.since = blockers[0].name, now
		}
		isOver := c.isLate(0)
		switch {
		case isOver && blockers[0].word == wait:
			c.noYield = true
		case isOver && !passing && c.lock.file.inherited && !c.confirmed:
			c.confirmed = true // another process that has our open file may have unlocked it while we looked
		case isOver && !passing:
			return c.everybody(blockers), c.giveUp(blockers)
		default:
			if err := p.pause(blockers, passing); err != nil {
				return nil, err
			}
		}
		c.renewBusy() // whoever sees the same busy token for a second takes it for stuck
	}
}

// isLate reports whether the deadline was that long ago.
func (c *call) isLate(ago time.Duration) bool {
	return !c.Deadline.IsZero() && c.Now().Sub(c.Deadline) >= ago
}

// isPassing reports whether what keeps us out may be over in a moment, and has lasted less than patience.
func (c *call) isPassing(blockers []record, patience time.Duration) bool {
	isNew := blockers[0].name != c.blocker
	return (blockers[0].word == busy || c.inDoubt) && (isNew || c.Now().Sub(c.since) < patience) && !c.isLate(patience)
}

// patience is how long what keeps us out counts as passing.
func (c *call) patience() time.Duration {
	if c.inDoubt {
		return doubtful
	}
	return stuck
}

// giveUp removes our records where a busy token that is stuck keeps us out: an upgrade that fails loses what there was.
// Where other records keep us out, enter has removed ours.
func (c *call) giveUp(blockers []record) error {
	if blockers[0].word != busy {
		return nil
	}
	s, err := c.look()
	if err != nil {
		return err
	}
	own, had, _ := c.own(s)
	if len(had) == 0 {
		return nil
	}
	_, err = c.drop(s.token, own, had)
	return err
}

// everybody returns all who have the lock, for the error; blockers are only as many as it takes to keep us out.
func (c *call) everybody(blockers []record) []record {
	if s, err := c.look(); err == nil {
		if all := c.living(s); len(all) > len(blockers) {
			return all
		}
	}
	return blockers
}

// living returns the records in which somebody holds the lock, or is taking or releasing it, with owners that say where
// their open files are.
func (c *call) living(s snapshot) (rs []record) {
	for _, j := range c.judge(s) {
		if j.verdict == gone {
			continue
		}
		if j.moved != nil {
			j.owner.pid, j.owner.number = j.moved.pid, j.moved.number
		}
		rs = append(rs, j.record)
	}
	return rs
}

// settle looks until no process is taking or releasing the lock and nothing is in doubt, or that has lasted for long. It
// returns the records of those who have the lock.
func (c *call) settle() (s snapshot, rs []record, err error) {
	for start := c.Now(); ; c.Sleep(shortestPause) {
		if s, err = c.look(); err != nil {
			return s, nil, err
		}
		rs = c.living(s)
		isBusy := slices.ContainsFunc(rs, func(r record) bool { return r.word == busy })
		if !isBusy && !c.inDoubt || c.Now().Sub(start) >= stuck {
			return s, rs, nil
		}
	}
}

// unlock gives up what the lock has. If somebody else has our open file, as a process has that our command has left behind,
// the lock is theirs, and our record says so.
func (c *call) unlock() error {
	l := c.lock
	if l.held.name == "" || l.file.inherited {
		return c.release()
	}
	if l.file.child != 0 {
		if p, isOpen := c.elsewhere(l.held.owner); isOpen {
			c.follow(judged{record: l.held, moved: p})
			return nil
		}
	}
	// Mostly our record stands as we have made it. The mark goes last: who finds the record without it searches all processes.
	defer c.unmark([]record{l.held})
	err := error(nil)
	if l.held.isToken() {
		err = c.Rename(l.held.name, free)
	} else {
		err = c.Remove(l.held.name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return c.release()
	}
	// If those who waited when we took the lock can have it now, nobody who came later is before them.
	if !l.held.isToken() || c.line.wake(l.queued) < wakes {
		c.wake(true)
	}
	return err
}

// sure is less than it takes until all process ids have been given out and come again.
const sure = 500 * time.Millisecond

// elsewhere looks for our open file, the one that answers for the owner o, in our descendants. isOpen is true if somebody
// has it or may have it, and p is where it was found.
func (c *call) elsewhere(o owner) (p *descriptor, isOpen bool) {
	f := &c.lock.file
	search := c.searchFor(o)
	search.Ours = &f.fd
	s := c.newScan(search, func(pid int, numbers []int) (done bool) {
		// To compare it again would miss it if the process has moved it meanwhile. Without kcmp(2) it may be another open
		// file: then whoever looks next finds ours nowhere.
		p = &descriptor{pid, numbers[0]}
		return true
	})
	s.mayHave = func(pid int) bool { return pid != o.pid && c.MayDescend(pid) }
	certain := false
	if c.Now().Sub(f.started) < sure {
		if isOpen, certain = s.after(f.child, o.pid, true); isOpen {
			return p, true
		}
	}
	if !certain {
		isOpen, certain = s.everywhere()
	}
	return p, isOpen || !certain
}
