package main

import (
	"context"
	"math/rand/v2"
	"time"

	"example.org/flock/fleet/lease"
)

// alwaysHeard is how many may be before a waiter that keeps its connection in any case, to be woken.
const alwaysHeard = 3

// Wait implements lease.Lock: it waits for a notification. The first waiters ask for notifications, and the others
// while less than half of the server's connections are in use. Who has asked keeps its connection until three quarters
// are: connections that come and go cost more than those that stay. One that nobody wakes looks after a second for each
// who is before it.
func (c *contender) Wait(ctx context.Context, until time.Duration) {
	w := c.take()
	mayAsk := c.waiting <= alwaysHeard || c.quarters < 2
	switch {
	case w == nil:
	case mayAsk, w.hears && c.quarters < 3:
		defer c.keep(w)
		if !w.hasAsked {
			c.listen(ctx, w)
			return // something may have happened before that
		}
	default:
		w.close()
		w = nil
	}
	long := min(until, c.changes) - lease.Now()
	if w == nil || !w.hears {
		pause := time.Duration(c.waiting) * time.Second
		long = min(long, pause/2+rand.N(pause))
	}
	limited, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	if w == nil {
		<-limited.Done()
	} else {
		w.wait(limited)
	}
}

// listen asks for the notifications of the contender, and finds out whether they come: by way of a pool of connections
// they do not. A notification of its own must come from another connection, since the server answers the same one in
// any case.
func (c *contender) listen(ctx context.Context, w *session) {
	w.hasAsked = true
	limited, cancel := context.WithTimeout(ctx, 2*c.patience()) // the next look, by ask, knows what to do about silence
	defer cancel()
	if _, err := w.send(limited, message{"LISTEN " + channel(c.key)}); err != nil {
		return
	}
	other, err := c.connect(limited)
	if err != nil {
		return
	}
	defer other.close()
	if _, err := other.send(limited, message{"NOTIFY " + channel(c.key)}); err == nil {
		aSecond, cancel := context.WithTimeout(limited, time.Second)
		w.hears = w.wait(aSecond)
		cancel()
	}
	if !w.hears { // the connection of the server may be another client's next
		w.sendInTime(ctx, "UNLISTEN "+channel(c.key), c.patience())
	}
}
