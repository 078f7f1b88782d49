package fallback

import (
	"cmp"
	"slices"

	"example.org/flock/internal/sys"
)

// describe returns what others may know of a record.
func (c *contender) describe(r record) Holder {
	h := Holder{PID: r.owner.pid, Host: r.owner.host, Mode: r.mode, Path: c.dir + "/" + r.name, Where: sys.Printable(c.here.where(r.owner.machine))}
	if r.file != nil {
		h.PID = r.file.pid
	}
	h.Unreachable = c.here.reach(r.owner.machine) != here || r.file != nil && r.owner.namespace != c.here.namespace
	return h
}

// lockedBy returns the error of who is kept out.
func (c *contender) lockedBy(keepers []record) *LockedError {
	e := &LockedError{Dir: c.dir}
	for _, r := range keepers {
		e.Holders = append(e.Holders, c.describe(r))
	}
	return e
}

// everybody returns all who hold the lock, and then all who wait for it.
func (c *contender) everybody() (hs []Holder, err error) {
	s, err := c.lookSettled()
	if err != nil {
		return nil, err
	}
	var holding []record
	for _, r := range s.holders {
		if r.moved != nil {
			r.file = r.moved
		}
		if r.verdict != over {
			holding = append(holding, r)
		}
	}
	openers := c.Openers(holding)
	for _, r := range holding {
		h := c.describe(r)
		pids := openers[r.name]
		if pids == nil {
			pids = []int{h.PID}
		}
		for _, h.PID = range pids {
			hs = append(hs, h)
		}
	}
	slices.SortStableFunc(hs, func(a, b Holder) int { return cmp.Compare(a.PID, b.PID) })
	hs = slices.Compact(hs)
	for _, name := range s.waiters {
		if r, ok := parseRecord(name); ok && c.fate(name) != gone {
			h := c.describe(r)
			h.Waiting = true
			hs = append(hs, h)
		}
	}
	return hs, nil
}

// lookSettled looks until nobody is taking or releasing the lock, or that has lasted for long: then who does is a holder.
func (c *contender) lookSettled() (snapshot, error) {
	c.Try = true
	for start := c.Now(); ; c.Sleep(shortestPause) {
		s, err := c.look()
		c.search(&s)
		isStuck := c.Now().Sub(start) >= stuck
		switch {
		case err != nil, len(s.tokens) == 1 && s.tokens[0] == free:
			return s, err
		case isStuck && len(s.tokens) == 0:
			return s, errNoToken
		case isStuck:
			if r, ok := parseRecord(s.tokens[0]); ok && r.mode == Busy && c.fate(s.nameOf(r.id)) != gone {
				r.verdict = held
				s.holders = append(s.holders, r)
			}
			return s, nil
		}
	}
}
