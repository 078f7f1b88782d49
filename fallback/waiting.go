package fallback

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// frontWaiters look about each second, those behind them every ten: whoever is stopped delays the next ones by that.
	frontWaiters = 8
	// distantPause is how often one looks at what nothing tells about.
	distantPause = time.Second
	// longestUncancelled is how often one looks whether the wait was cancelled, if it can be.
	longestUncancelled = 50 * time.Millisecond
	// An open file tells nobody when it is closed: the first waiter looks for it after a twentieth of the time that it has
	// waited for it, but not less and not more often than this.
	shortestPause, longestPause = time.Millisecond, 250 * time.Millisecond
)

// wait waits for the lifeline of the waiter before us or, as the first one, for what keeps us out.
func (c *contender) wait(ctx context.Context, s snapshot, keepers []record) error {
	n, _ := slices.BinarySearch(s.waiters, c.self.name)
	watched, pause := c.ahead(s.waiters[:n])
	switch {
	case c.dead != nil: // remove them first: who holds the lock may do so for weeks
		return nil
	case pause == 0:
		watched, pause = c.watchKeepers(keepers)
	}
	if ctx.Done() != nil {
		pause = min(pause, longestUncancelled)
	}
	if !c.Deadline.IsZero() {
		pause = min(pause, max(0, c.Deadline.Sub(c.Now())))
	}
	timedOut, err := c.Wait(c.self.life, watched, pause)
	c.timedOut = timedOut && draw(n+1) < frontWaiters // hundreds of searches would hinder the first ones
	return err
}

// ahead returns the nearest living waiter before us, as what to watch, and for how long; 0: there is none. It notes the dead.
func (c *contender) ahead(before []string) (watched []string, pause time.Duration) {
	c.dead = nil
	for i, name := range slices.Backward(before) {
		switch c.fate(name) {
		case alive:
			pause = time.Second
			if i >= frontWaiters {
				pause *= 10
			}
			return []string{name}, pause + rand.N(pause/2)
		case gone:
			c.dead = append(c.dead, name)
		case unknown, strange:
			return nil, distantPause
		}
	}
	return nil, 0
}

// watchKeepers returns which of those who keep us out to watch, and for how long.
func (c *contender) watchKeepers(keepers []record) (watched []string, pause time.Duration) {
	pause = time.Second + rand.N(time.Second/2)
	for _, r := range keepers {
		switch {
		case r.mode == Busy:
			pause = longestRetry
		case c.here.reach(r.owner.machine) != here:
			pause = min(pause, distantPause)
		case r.file != nil:
			pause = min(pause, max(shortestPause, min(c.Now().Sub(c.since)/20, longestPause)))
		case c.Mode == Permit || watched == nil:
			watched = append(watched, r.name)
		}
	}
	return watched, pause
}
