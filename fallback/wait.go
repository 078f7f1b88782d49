package fallback

import (
	"math/rand/v2"
	"time"
)

const (
	// busyPauses is how often, after pauses of some milliseconds, a busy token is looked at again before we line up.
	busyPauses = 3
	// busyPause is how long we wait for the event of a busy token before we look whether its owner has died.
	busyPause = 10 * time.Millisecond
	// mostNews is how many attempts follow each other because of something new to watch.
	mostNews = 3
	// noticeAfter is how long Lock waits before it calls Notice.
	noticeAfter = time.Second

	// Where there are no events:
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
	started := c.Now()
	w := waiting{call: c, actor: actor, deadline: deadline, started: started, looked: started, pause: shortestPause}
	for wait != nil && err == nil {
		now := c.Now()
		transient := w.transient(wait, now)
		if !transient && w.over(now) {
			return c.everybody(wait), nil
		}
		if w.prepare(wait, transient, now) {
			wait, err = c.attempt()
			w.fresh(c.Now())
			continue
		}
		happened := c.Pause(w.next(wait, transient, now))
		if c.quit != nil && c.quit() {
			return nil, ErrQuit
		}
		now = c.Now()
		if !happened && !w.due(now) && !w.over(now) {
			if stand, err := c.stand(wait); err != nil {
				return nil, err
			} else if stand {
				continue
			}
		}
		w.news = 0
		// What was an exclusive lock is free now, mostly. After a busy token there can be shared holders: two who each
		// took the token to find that out would wake each other for ever.
		if wait[0].kind == kindExcl {
			if _, err := c.move(free, c.busy); err != nil {
				return nil, err
			}
		}
		wait, err = c.attempt()
		w.fresh(c.Now())
	}
	return nil, err
}

// waiting is what one acquire remembers from pause to pause.
type waiting struct {
	*call
	actor    Owner
	deadline time.Time // zero: none
	started  time.Time
	looked   time.Time // when the last attempt was

	busy    string    // the busy token that was last seen
	since   time.Time // and when first
	pauses  int
	pause   time.Duration
	crowd   time.Duration // how many wait
	events  watched
	watched bool // since the last attempt
	news    int  // attempts without a pause, because there was something new to watch
	told    bool
}

func (w *waiting) fresh(now time.Time) { w.looked, w.watched = now, false }

func (w *waiting) over(now time.Time) bool { return !w.deadline.IsZero() && !now.Before(w.deadline) }

// transient reports whether it is a busy token that keeps us out, and not for long.
func (w *waiting) transient(wait []record, now time.Time) bool {
	if wait[0].kind != kindBusy {
		return false
	}
	if wait[0].name != w.busy {
		w.busy, w.since = wait[0].name, now
	}
	return now.Sub(w.since) < stuck
}

// prepare lines us up and watches what keeps us out. It reports whether there is something new to watch, so that an
// attempt has to follow: what has happened before would not be told.
func (w *waiting) prepare(wait []record, transient bool, now time.Time) bool {
	if w.watched || transient && (w.pauses < busyPauses || w.over(now)) {
		return false
	}
	w.crowd = time.Duration(w.Queue(w.actor))
	w.events = w.Watch(wait, w.signs)
	w.watched = true
	w.news++
	return w.events.news && w.news <= mostNews
}

// next returns how long to pause.
func (w *waiting) next(wait []record, transient bool, now time.Time) time.Duration {
	w.pauses++
	d := w.events.longest
	switch {
	case !w.watched || d == 0:
		d = w.pause/2 + rand.N(w.pause)
		w.pause = min(w.pause+w.pause/4, max(lonePause, min(w.crowd*pausePerWaiter, longestPause)))
		if transient && w.pauses <= busyPauses {
			d = min(d, time.Duration(w.pauses)*shortestPause)
		}
	case transient && w.events.near:
		d = busyPause
	case w.news > mostNews: // something was new again
		d = shortestPause
	}
	if left := w.deadline.Sub(now); left > 0 {
		d = min(d, left)
	}
	if w.notice != nil && !w.told && w.unreachable(wait) {
		left := w.started.Add(noticeAfter).Sub(now)
		if left <= 0 {
			w.told = true
			w.notice(w.everybody(wait))
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
		every = max(lookEvery, min(w.crowd*lookPerWaiter, lookAtLeast))
	}
	if w.news > mostNews {
		every = 0
	}
	return now.Sub(w.looked) >= every
}

func (w *waiting) unreachable(wait []record) bool {
	for _, r := range wait {
		if w.Fate(r.owner) == unknown {
			return true
		}
	}
	return false
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
