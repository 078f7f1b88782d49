package fallback

import (
	"math/rand/v2"
	"time"
)

const (
	shortestPause = time.Millisecond
	longestPause  = 500 * time.Millisecond
	// All waiters together look about once in this time, however many they are: that is how long a hand-over takes
	// and how much load they make. A single one may take longer, see lonePause.
	pausePerWaiter = 4 * time.Millisecond
	lonePause      = 16 * time.Millisecond
	// lookEvery is how often a waiter does more than see whether the name that keeps it out still stands: that it
	// asks whether its owner lives, and has a network filesystem read the directory anew.
	lookEvery = 40 * time.Millisecond
	// With many waiters one of them does so every lookPerWaiter, but none more seldom than lookAtLeast.
	lookPerWaiter = 10 * time.Millisecond
	lookAtLeast   = 2 * time.Second
	// stuck is how long a busy token must stay the same to be a conflict.
	stuck = time.Second
)

// acquire attempts until the lock is ours (nil, nil) or the deadline has passed: then it returns who has it.
func (c *call) acquire(r Request, actor Owner, deadline time.Time) ([]record, error) {
	c.request, c.busy = r, newRecord(kindBusy, actor.renewed()).name
	actor.Tag = r.Mode.String() // for those who ask who waits
	defer c.Leave()
	// Mostly the lock is free. A rename that fails costs less than a look.
	if _, err := c.move(free, c.busy); err != nil {
		return nil, err
	}
	wait, err := c.attempt()
	looked := c.Now()
	now, busy, since := looked, "", looked
	crowd := time.Duration(1)
	for pause := shortestPause; wait != nil && err == nil; {
		transient := wait[0].kind == kindBusy
		if transient && wait[0].name != busy {
			busy, since = wait[0].name, now
		}
		if transient = transient && now.Sub(since) < stuck; !transient && !deadline.IsZero() && !now.Before(deadline) {
			return c.everybody(wait), nil
		}
		if pause >= lonePause/2 {
			crowd = time.Duration(c.Queue(actor))
		}
		d := pause/2 + rand.N(pause)
		if transient {
			d = min(d, shortestPause)
		}
		if left := deadline.Sub(now); left > 0 {
			d = min(d, left)
		}
		c.Pause(d)
		if c.quit != nil && c.quit() {
			return nil, ErrQuit
		}
		pause = min(pause+pause/4, max(lonePause, min(crowd*pausePerWaiter, longestPause)))
		now = c.Now()
		if now.Sub(looked) < max(lookEvery, min(crowd*lookPerWaiter, lookAtLeast)) && (deadline.IsZero() || now.Before(deadline)) {
			if stand, err := c.stand(wait); stand || err != nil {
				if err != nil {
					return nil, err
				}
				continue
			}
		}
		wait, err = c.attempt()
		looked = now
	}
	return nil, err
}

// stand reports whether each of the records that keep us out is still there.
func (c *call) stand(wait []record) (bool, error) {
	for _, r := range wait {
		if ok, err := c.Exists(r.name); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// everybody returns all who have the lock, for the error; wait names only as many as it takes to keep us out.
func (c *call) everybody(wait []record) []record {
	if v, err := c.look(); err == nil {
		if all := c.living(v); len(all) > len(wait) {
			return all
		}
	}
	return wait
}

func (c *call) living(v view) (rs []record) {
	if v.token.kind == kindExcl && c.lives(v.token) {
		rs = append(rs, v.token)
	}
	for _, r := range v.holders {
		if c.lives(r) {
			rs = append(rs, r)
		}
	}
	return rs
}
