package fallback

import (
	"cmp"
	"slices"

	"example.org/flock/internal/sys"
)

// describe returns what others may know of a record in the state directory dir.
func (a *attempt) describe(dir string, r record) Holder {
	m := a.Machine()
	h := Holder{
		PID:         r.owner.pid,
		Host:        r.owner.host,
		Mode:        r.mode,
		Path:        dir + "/" + r.name,
		Unreachable: r.verdict == doubtful,
		Where:       sys.Printable(m.where(r.owner.machine)),
	}
	switch {
	case m.reach(r.owner.machine) != here:
	case !m.pids.is(r.owner.pids):
		h.PID = 0
	case r.moved != nil:
		h.PID, h.Where = r.moved.pid, ""
	case r.file != nil:
		h.PID, h.Where = r.file.pid, ""
	default:
		h.Where = ""
	}
	return h
}

// everybody returns all who hold the lock, and then all who wait for it.
func (a *attempt) everybody(dir string) (hs []Holder, err error) {
	s, err := a.lookSettled()
	if err != nil {
		return nil, err
	}
	var holding []record
	for _, r := range s.holders {
		if r.verdict == over || !a.isOfOurFile(r) {
			continue // it keeps nobody out
		}
		if r.moved != nil {
			r.file = r.moved
		}
		holding = append(holding, r)
	}
	hs = a.describeAll(dir, holding)
	slices.SortStableFunc(hs, func(a, b Holder) int { return cmp.Compare(a.PID, b.PID) })
	hs = slices.Compact(hs)
	for _, h := range a.describeAll(dir, a.living(s.waiters)) {
		h.Waiting = true
		hs = append(hs, h)
	}
	return hs, nil
}

// living returns the records of those waiters that may live.
func (a *attempt) living(waiters []string) (rs []record) {
	for _, name := range waiters {
		r, ok := parseRecord(name)
		if r.verdict = a.judgeLifeline(name); ok && r.verdict != over {
			rs = append(rs, r)
		}
	}
	return rs
}

// describeAll describes the processes that have what these records stand for, or the records themselves, if no process is seen.
func (a *attempt) describeAll(dir string, rs []record) (hs []Holder) {
	openers := a.Openers(rs)
	for _, r := range rs {
		h := a.describe(dir, r)
		for _, pid := range openers[r.name] {
			seen := h
			seen.PID, seen.Where, seen.Unreachable = pid, "", false
			hs = append(hs, seen)
		}
		if len(openers[r.name]) == 0 {
			hs = append(hs, h)
		}
	}
	return hs
}

// lookSettled looks until nobody is taking or releasing the lock, or that has lasted for long: then who does is a holder.
func (a *attempt) lookSettled() (snapshot, error) {
	for start := a.Now(); ; a.Sleep(shortestPause) {
		s, err := a.look()
		if err == nil && s.has(lost) {
			a.search(&s)
		}
		isStuck := a.Now().Sub(start) >= stuck
		switch {
		case err != nil, s.token() == free:
			return s, err
		case isStuck && s.token() == "":
			return s, s.errTokens()
		case isStuck:
			r, _ := parseRecord(s.token())
			if r.verdict = a.judgeLifeline(s.lifelineOf(r.id)); r.verdict != over {
				s.holders = append(s.holders, r)
			}
			return s, nil
		}
	}
}
