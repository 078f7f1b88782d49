package fallback

import (
	"cmp"
	"slices"
	"time"

	"example.org/flock/fallback/openfile"
	"example.org/flock/internal/proc"
)

// everybody returns all who hold the lock, and then all who wait for it.
func (a *attempt) everybody(dir string) (hs []Contender, err error) {
	s, err := a.lookSettled()
	if err != nil {
		return nil, err
	}
	var holders []record
	for _, r := range s.holders {
		if r.verdict == over || !a.isOfOurFile(r) {
			continue // it keeps nobody out
		}
		holders = append(holders, r)
	}
	hs = a.describeAll(dir, holders)
	slices.SortStableFunc(hs, func(a, b Contender) int { return cmp.Compare(a.PID, b.PID) })
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

// describeAll describes the processes that have what these records stand for, or the records themselves, if no process
// is seen. A process is described once for each mode: of several shared locks that a search has found nothing tells
// which process has which.
func (a *attempt) describeAll(dir string, rs []record) (hs []Contender) {
	openers, told := a.Openers(rs)
	for _, r := range rs {
		h, pids := a.describe(dir, r), openers[r.name]
		if len(pids) == 0 {
			hs = append(hs, a.describeUnseen(h, r, told))
			continue
		}
		h.Where, h.Unreachable, h.Seen = "", false, true
		for _, h.PID = range pids {
			isAgain := func(o Contender) bool { return o.Seen && o.PID == h.PID && o.Mode == h.Mode }
			if !slices.ContainsFunc(hs, isAgain) {
				hs = append(hs, h)
			}
		}
	}
	return hs
}

// describeUnseen completes h, which describes a record that no process was seen to have.
func (a *attempt) describeUnseen(h Contender, r record, told openfile.Telling) Contender {
	if told == openfile.TellsNothing || h.Where != "" || h.Seen || a.lives(r) {
		return h
	}
	h.PID = 0 // it has left the lock to another process, or has released it
	hasGone := r.file == nil && a.judgeLifeline(r.name) == over
	if told == openfile.TellsSome && !hasGone {
		h.Where = "that this user may not see"
	}
	return h
}

// lives reports whether the process that a record names still runs.
func (a *attempt) lives(r record) bool {
	recorded, current := a.startsOf(r)
	return recorded != 0 && current == recorded
}

// isIDReused reports whether the id of the process that a record names is that of another one by now.
func (a *attempt) isIDReused(r record) bool {
	recorded, current := a.startsOf(r)
	return recorded != 0 && current != 0 && current != recorded
}

// startsOf returns when the process that a record names was started: the one that has made it, or that had the open
// file then; and when the process was that has this id now. 0 is unknown: in another time namespace they cannot be
// compared.
func (a *attempt) startsOf(r record) (recorded, current uint64) {
	if !a.Machine().pidNS.sharesClock(r.owner.pidNS) {
		return 0, 0
	}
	if r.file != nil {
		return r.file.Start, proc.Start(r.file.PID)
	}
	return r.owner.start, proc.Start(r.owner.pid)
}

// lookSettled looks until nobody is taking the lock. If one does so for long, that is a holder, too. If
// they do so one after the other, or one searches, it does not wait for the end. It searches without the token: a file
// that is not marked yet does not have the lock, either.
func (a *attempt) lookSettled() (snapshot, error) {
	var sight sighting
	start := a.Now()
	for looks := 1; ; looks++ {
		s, err := a.look()
		if err != nil {
			return s, err
		}
		isLong := sight.isLong(&s, a.Now())
		hasChanged := sight.looks < looks
		switch token := s.token(); {
		case token == "" && isLong:
			return s, s.errToken()
		case token == "": // somebody renames it or, as --remove does, the directory
			if err := a.Reopen(false); err != nil {
				return snapshot{}, ignoreAbsent(err)
			}
		case token == free, isLong, hasChanged && a.Now().Sub(start) >= stuck/10:
			a.search(&s)
			if owner := a.tokenOwner(&s); isLong && owner.verdict != over {
				s.holders = append(s.holders, owner)
			}
			return s, nil
		}
		a.Sleep(time.Millisecond)
	}
}
