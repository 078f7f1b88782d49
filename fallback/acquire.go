package fallback

import (
	"context"
	"time"
)

const (
	// stuck is how long a busy token must stay the same to be a conflict.
	stuck = time.Second
	// longestRetry is the longest pause between two attempts to take the token.
	longestRetry = 50 * time.Millisecond
)

// acquire takes the lock (nil, nil), or returns who keeps us out when there is no more time.
func (c *contender) acquire(ctx context.Context) (keepers []record, err error) {
	if !c.Deadline.IsZero() && !c.Deadline.After(c.began) {
		c.Try = true
	}
	for {
		v, err := c.look()
		if err != nil {
			return nil, err
		}
		if c.maySearch(&v) {
			c.search(&v)
		}
		keepers = c.keepers(v)
		if keepers == nil || v.hasNews() {
			entered := false
			if entered, keepers, err = c.enter(); entered || err != nil {
				return nil, err
			}
		}
		c.note(keepers)
		if keepers != nil {
			if err := c.giveUp(&v.snapshot); err != nil {
				return nil, err
			}
			if c.isOver() {
				return keepers, nil
			}
		}
		if err := ctx.Err(); err != nil && err != context.DeadlineExceeded {
			return nil, err
		}
		if keepers != nil {
			if err := c.come(); err != nil {
				return nil, err
			}
			if err := c.wait(ctx, v, keepers); err != nil {
				return nil, err
			}
		}
	}
}

// note notes who keeps us out, and tells the caller once if that lasts.
func (c *contender) note(keepers []record) {
	name := ""
	if keepers != nil {
		name = keepers[0].name
	}
	if name != c.keeper {
		c.keeper, c.since = name, c.Now()
	}
	if keepers != nil && !c.Try && !c.told && c.Waiting != nil && c.Now().Sub(c.began) >= time.Second {
		c.told = true
		c.Waiting(&LockedError{Dir: c.dir, Holders: c.describe(keepers)})
	}
}

// isOver reports whether there is no more time for who is kept out.
func (c *contender) isOver() bool {
	return c.Try || !c.Deadline.IsZero() && !c.Now().Before(c.Deadline)
}
