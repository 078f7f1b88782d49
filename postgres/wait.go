package main

import (
	"context"
	"time"

	"example.org/flock/lease"
)

// await waits until there may be a change for the contender, or its row has to be renewed.
func (c *contender) await(ctx context.Context) error {
	for {
		v, hasSpare, err := c.look(ctx)
		since, ttl := c.Life()
		switch {
		case err != nil:
			return err
		case v.own == nil:
			return lease.ErrLost
		case lease.Now() > since+ttl*3/10, v.isAnother:
			return nil
		}
		s := v.stand(c.Request)
		if s.entitled || s.seq != v.own.int(ofSeq) {
			return nil
		}
		c.Taken()
		pause := time.Second
		for _, until := range []time.Duration{v.quiet, v.cools} {
			if until > 0 {
				pause = min(pause, until)
			}
		}
		if c.pause(ctx, pause, s.waiting < alwaysHeard, hasSpare); ctx.Err() != nil {
			return c.link.Unreachable(ctx)
		}
	}
}

// alwaysHeard is how many may be before a waiter that keeps its connection in any case, to be woken.
const alwaysHeard = 3

// pause waits for a notification, or for about so long. Waiters keep no connection if there are many of them and the
// server has few.
func (c *contender) pause(ctx context.Context, long time.Duration, isFirst, hasSpare bool) {
	w := c.take()
	mayKeep := w != nil && (isFirst || hasSpare)
	limited, cancel := context.WithTimeout(ctx, jitter(long))
	defer cancel()
	switch {
	case mayKeep && !w.hasAsked:
		c.listen(ctx, w)
		c.keep(w)
		return // something may have happened before that
	case mayKeep && w.hears:
		w.wait(limited)
		c.keep(w)
		return
	case mayKeep && isFirst: // nobody wakes it
		c.keep(w)
		limited, cancel = context.WithTimeout(ctx, jitter(long/4))
		defer cancel()
	case w != nil:
		w.close()
	}
	<-limited.Done()
}

// listen asks for the notifications of the contender, and finds out whether they come: by way of a pool of connections
// they do not. A notification of its own must come from another connection, since the server answers the same one in
// any case.
func (c *contender) listen(ctx context.Context, w *session) {
	w.hasAsked = true
	if _, err := w.run(ctx, "LISTEN "+channel(c.key)); err != nil {
		return
	}
	other, err := c.connect(ctx)
	if err != nil {
		return
	}
	defer other.close()
	if _, err := other.run(ctx, "NOTIFY "+channel(c.key)); err == nil {
		limited, cancel := context.WithTimeout(ctx, time.Second)
		w.hears = w.wait(limited)
		cancel()
	}
	if !w.hears {
		w.run(ctx, "UNLISTEN "+channel(c.key)) // the connection of the server may be another client's next
	}
}
