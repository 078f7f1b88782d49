package fallback

import (
	"context"
	"time"
)

const (
	// stuck is how long a busy token must stay the same to be a conflict.
	stuck = time.Second
	// Between two attempts to take the token the pause doubles. To look more often costs a busy machine more than it gains: where
	// 64 readers loop, 17 % of the processor time from 50 µs on, and half of the throughput with at most 2 ms.
	shortestRetry, longestRetry = 250 * time.Microsecond, 50 * time.Millisecond
)

// acquire takes the lock (nil, nil), or returns who keeps us out when there is no more time.
func (c *contender) acquire(ctx context.Context) (keepers []record, err error) {
	if !c.Deadline.IsZero() && !c.Deadline.After(c.began) {
		c.Try = true
	}
	for {
		if err := ctx.Err(); err != nil && err != context.DeadlineExceeded {
			return nil, err
		}
		s, err := c.look()
		if err != nil {
			return nil, err
		}
		c.search(&s)
		keepers = c.keepers(s)
		if keepers == nil || s.hasNews() || c.maySearch(&s) || c.dead != nil { // still lost: no token was seen, which take tells
			entered := false
			if entered, keepers, err = c.enter(); entered || err != nil {
				return nil, err
			}
		}
		if keepers == nil {
			continue
		}
		c.note(keepers)
		if err := c.giveUp(&s); err != nil {
			return nil, err
		}
		if c.isOver() {
			return keepers, nil
		}
		if err := c.come(); err != nil {
			return nil, err
		}
		if err := c.wait(ctx, s, keepers); err != nil {
			return nil, err
		}
	}
}

// note notes who keeps us out, and tells the caller once if that lasts.
func (c *contender) note(keepers []record) {
	if name := keepers[0].name; name != c.keeper {
		c.keeper, c.since = name, c.Now()
	}
	if !c.Try && !c.told && c.Waiting != nil && c.Now().Sub(c.began) >= time.Second {
		c.told = true
		c.Waiting(c.lockedBy(keepers))
	}
}
