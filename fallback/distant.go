package fallback

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Other machines tell nothing: no event comes from there, and whether a process there lives cannot be seen. So a waiter that
// has to do with another machine renews its entry at each look, which also makes a network filesystem ask its server. A
// contender that sees an older entry which was renewed just now lets that waiter go first: it looks seldom, and a stream of
// others would shut it out for ever.

const (
	// fresh is how old the entry of a waiter of another machine may be that is let go first, and longestYield how long
	// others do that.
	fresh        = 3 * checkEvery
	longestYield = 2 * checkEvery
	// abandoned is after how long without being renewed such an entry is removed.
	abandoned = time.Minute
)

// isDistant reports whether other machines have to do with the lock.
func (w *waiting) isDistant(blockers []record) bool {
	return slices.ContainsFunc(blockers, func(r record) bool { return here().reach(r.owner.machine) == unknown }) ||
		slices.ContainsFunc(w.listed.waiters, func(name string) bool { return !isOfThisMachine(name) })
}

// beat renews our entry: it gets another name, which a network filesystem cannot leave to a cache, and the server's time.
func (l *line) beat() {
	o, m, _ := parseWaiter(l.name)
	o.number = -1 - o.number // -1 and 0 by turns
	name := newRecord(wait, o).name
	if err := ignoreAbsent(l.state.Rename(l.name, name)); err != nil {
		return
	}
	if there, _ := l.state.Exists(name); !there { // somebody has taken us for gone
		l.leave()
		l.enter(o, m, o.nonce)
		return
	}
	l.name = name
	l.state.dir.touch(name)
}

// elder returns a waiter of another machine that goes before us, as the record that keeps us out, or nil.
func (c *call) elder(s snapshot) []record {
	if c.state == nil || c.Try || c.noYield || c.mayHave() {
		return nil
	}
	if c.elders == nil {
		c.elders = []string{}
		for _, name := range s.waiters {
			if !isOfThisMachine(name) {
				c.elders = append(c.elders, arrivalOf(name))
			}
		}
	}
	for _, name := range s.waiters {
		if isOfThisMachine(name) || !slices.Contains(c.elders, arrivalOf(name)) || c.state.age(name, s.token.name) > fresh {
			continue
		}
		if c.yielding.IsZero() {
			c.yielding = c.Now()
		}
		if c.noYield = c.Now().Sub(c.yielding) > longestYield; c.noYield {
			return nil
		}
		o, _, _ := parseWaiter(name)
		return []record{{word: wait, owner: o, name: name}}
	}
	return nil
}

// age returns how long ago an entry was renewed, by the clock of the server. token is a file to ask it with.
func (s *stateDir) age(name, token string) time.Duration {
	renewed, err := s.dir.modTime(name)
	if err != nil || s.dir.touch(token) != nil {
		return abandoned
	}
	now, err := s.dir.modTime(token)
	if err != nil {
		return abandoned
	}
	return now.Sub(renewed)
}

// removeDead removes the dead among n waiters, chosen at random, because to judge all each time would be much work. Whoever
// has its FIFO open lives. Of those that this machine can never judge it removes the ones that have not been renewed for
// long.
func (l *line) removeDead(s snapshot, n int) {
	for _, i := range rand.Perm(len(s.waiters))[:min(n, len(s.waiters))] {
		if name := s.waiters[i]; name != l.name && !l.state.listens(name) {
			o, _, ok := parseWaiter(name)
			fate := here().judge(o)
			if !ok || fate == dead || fate == unknown && l.state.age(name, s.token.name) >= abandoned {
				l.state.Remove(name)
			}
		}
	}
}
