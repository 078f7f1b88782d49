package fallback

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// busyPauses is how many times a busy token is looked at again, after pauses of some milliseconds, before we queue.
	busyPauses = 3
	// busyPause is how long we wait for an event of a busy token before we check whether its owner has died.
	busyPause = 10 * time.Millisecond
	// maxRetries is how many attempts follow each other without a pause because there was something new to watch.
	maxRetries = 3
	// cancelPause is how long it can take until Lock notices that its context is cancelled.
	cancelPause = 50 * time.Millisecond
	// noticeAfter is how long Lock waits before it calls Notice.
	noticeAfter = time.Second

	// Where there are no events:
	shortestPause = time.Millisecond
	longestPause  = 500 * time.Millisecond
	// All waiters together look about once in this time, however many they are. This is how long a hand-over takes
	// and how much load they make. A single waiter may take longer, see lonePause.
	pausePerWaiter = 4 * time.Millisecond
	lonePause      = 16 * time.Millisecond
	// lookEvery is how often a waiter does more than check that the name which keeps it out is still there: it checks
	// whether the owner is alive, and makes a network filesystem read the directory anew.
	lookEvery = 40 * time.Millisecond
	// With many waiters, one of them does so every lookPerWaiter, and each at least every lookAtLeast.
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
	started := c.Now()
	w := waiting{call: c, actor: actor, deadline: deadline, started: started, looked: started, pause: shortestPause}
	for wait != nil && err == nil {
		now := c.Now()
		transient := w.transient(wait, now)
		if !transient && w.expired(now) {
			return c.everybody(wait), c.dropOwn(wait)
		}
		if w.prepare(wait, transient, now) {
			wait, err = c.attempt()
			w.lookedAt(c.Now())
			continue
		}
		happened := c.Pause(w.next(wait, transient, now))
		if err := c.cancelled(); err != nil {
			return nil, err
		}
		now = c.Now()
		if !happened && !w.due(now) && !w.expired(now) {
			if stand, err := c.stand(wait); err != nil {
				return nil, err
			} else if stand {
				continue
			}
		}
		w.retries = 0
		// Mostly an exclusive lock is free now. After a busy token there may be shared holders: two waiters that each
		// take the token to find that out would wake each other for ever.
		if wait[0].kind == kindExcl {
			if _, err := c.move(free, c.busy); err != nil {
				return nil, err
			}
		}
		wait, err = c.attempt()
		w.lookedAt(c.Now())
	}
	return nil, err
}

// dropOwn removes our records where a stuck busy token keeps us out: an upgrade that fails loses what there was. Where other
// records keep us out, attempt has removed ours.
func (c *call) dropOwn(wait []record) error {
	if wait[0].kind != kindBusy {
		return nil
	}
	v, err := c.look()
	if err != nil {
		return err
	}
	own := c.own(v)
	err = c.remove(own...)
	if len(own) > 0 {
		c.Wake(true)
	}
	return err
}

// cancelled returns the error of the context, unless that is its deadline, which acquire looks at itself.
func (c *call) cancelled() error {
	if c.ctx == nil || c.ctx.Err() == context.DeadlineExceeded {
		return nil
	}
	return c.ctx.Err()
}

// waiting is the state of one acquire that waits.
type waiting struct {
	*call
	actor    Owner
	deadline time.Time // zero: none
	started  time.Time
	looked   time.Time // when the last attempt was

	busy        string    // the busy token that was seen last
	since       time.Time // when it was seen first
	pauses      int
	pause       time.Duration
	waiterCount time.Duration // how many wait
	events      watched
	watched     bool // since the last attempt
	retries     int  // attempts without a pause because there was something new to watch
	noticed     bool
}

func (w *waiting) lookedAt(now time.Time) { w.looked, w.watched = now, false }

func (w *waiting) expired(now time.Time) bool { return !w.deadline.IsZero() && !now.Before(w.deadline) }

// transient reports whether a busy token keeps us out that has not been the same for long.
func (w *waiting) transient(wait []record, now time.Time) bool {
	if wait[0].kind != kindBusy {
		return false
	}
	if wait[0].name != w.busy {
		w.busy, w.since = wait[0].name, now
	}
	return now.Sub(w.since) < stuck
}

// prepare puts us into the queue and watches what keeps us out. It reports whether there is something new to watch: then an
// attempt must follow, because no event tells what happened before the watch.
func (w *waiting) prepare(wait []record, transient bool, now time.Time) bool {
	if w.watched || transient && (w.pauses < busyPauses || w.expired(now)) {
		return false
	}
	w.waiterCount = time.Duration(w.Queue(w.actor))
	w.events = w.Watch(wait, w.sign)
	w.watched = true
	w.retries++
	return w.events.added && w.retries <= maxRetries
}

// next returns how long to pause.
func (w *waiting) next(wait []record, transient bool, now time.Time) time.Duration {
	w.pauses++
	d := w.events.longest
	switch {
	case !w.watched || d == 0:
		d = w.pause/2 + rand.N(w.pause)
		w.pause = min(w.pause+w.pause/4, max(lonePause, min(w.waiterCount*pausePerWaiter, longestPause)))
		if transient && w.pauses <= busyPauses {
			d = min(d, time.Duration(w.pauses)*shortestPause)
		}
	case transient && w.events.eldest:
		d = busyPause
	case w.retries > maxRetries: // something was new again
		d = shortestPause
	}
	if left := w.deadline.Sub(now); left > 0 {
		d = min(d, left)
	}
	if w.ctx != nil && w.ctx.Done() != nil { // no event tells that it is cancelled
		d = min(d, cancelPause)
	}
	if w.notice != nil && !w.noticed {
		left := w.started.Add(noticeAfter).Sub(now)
		if left <= 0 {
			w.noticed = true
			w.notice(wait)
		} else {
			d = min(d, left)
		}
	}
	return d
}

// due reports whether it is time for an attempt even if all seems to be as it was.
func (w *waiting) due(now time.Time) bool {
	every := w.events.longest
	if every == 0 {
		every = max(lookEvery, min(w.waiterCount*lookPerWaiter, lookAtLeast))
	}
	if w.retries > maxRetries {
		every = 0
	}
	return now.Sub(w.looked) >= every
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
