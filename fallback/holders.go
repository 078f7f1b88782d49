package fallback

import (
	"cmp"
	"slices"
)

// describe returns what others may know of records.
func (c *contender) describe(rs []record) (hs []Holder) {
	for _, r := range rs {
		h := Holder{PID: r.owner.pid, Host: r.owner.host, Mode: r.mode, Path: c.dir + "/" + r.name, where: c.here.where(r.owner.machine)}
		if r.file != nil {
			h.PID = r.file.pid
		}
		h.Unreachable = c.here.reach(r.owner.machine) != here || r.file != nil && r.owner.namespace != c.here.namespace
		hs = append(hs, h)
	}
	return hs
}

// everybody returns all who hold the lock, and then all who wait for it.
func (c *contender) everybody() (hs []Holder, err error) {
	v, err := c.lookSettled()
	if err != nil {
		return nil, err
	}
	var holding []record
	for _, j := range v.holders {
		if j.moved != nil {
			j.file = j.moved
		}
		if j.verdict != over {
			holding = append(holding, j.record)
		}
	}
	openers := map[string][]Holder{}
	c.Openers(func(p int, of record) {
		if h := c.describe([]record{of})[0]; p != pid {
			h.PID = p
			openers[of.name] = append(openers[of.name], h)
		}
	}, holding)
	for _, r := range holding {
		if all := openers[r.name]; all != nil {
			hs = append(hs, all...)
		} else {
			hs = append(hs, c.describe([]record{r})...)
		}
	}
	slices.SortStableFunc(hs, func(a, b Holder) int { return cmp.Compare(a.PID, b.PID) })
	hs = slices.Compact(hs)
	return append(hs, c.waiters(&v.snapshot)...), nil
}

// lookSettled looks until nobody is taking or releasing the lock, or that has lasted for long: then who does is a holder.
func (c *contender) lookSettled() (view, error) {
	c.Try = true
	for start, pause := c.Now(), shortestPause; ; c.Sleep(pause) {
		v, err := c.look()
		if err != nil {
			return v, err
		}
		c.search(&v)
		if len(v.tokens) == 1 && v.tokens[0] == free {
			return v, nil
		}
		if c.Now().Sub(start) < stuck {
			continue
		}
		if len(v.tokens) == 0 {
			return v, errNoToken
		}
		if r, ok := parseRecord(v.tokens[0]); ok && r.mode == Busy && c.fate(v.nameOf(r.id), r.owner) != gone {
			v.holders = append(v.holders, judged{record: r, verdict: held})
		}
		return v, nil
	}
}

// waiters returns those who wait and live.
func (c *contender) waiters(s *snapshot) (hs []Holder) {
	for _, name := range s.waiters {
		r, ok := parseRecord(name)
		if !ok || c.fate(name, r.owner) == gone {
			continue
		}
		h := c.describe([]record{r})[0]
		h.Waiting = true
		hs = append(hs, h)
	}
	return hs
}
