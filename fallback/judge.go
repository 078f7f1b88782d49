package fallback

import "slices"

// A verdict says what is known of the holder that a record stands for.
type verdict uint8

const (
	over    verdict = iota // for good
	ours                   // it is our open file, or our lifeline
	held                   // somebody has it
	lost                   // an open file that is not where its record says: held, until a search has not found it
	distant                // this process cannot tell: held
)

// look lists the state directory, and judges the holders.
func (c *contender) look() (snapshot, error) {
	s, err := c.list()
	for i := range s.holders {
		r := &s.holders[i]
		r.verdict = held
		switch {
		case c.isOurs(*r):
			r.verdict = ours
		case r.file != nil:
			r.verdict, r.moved = c.judgeFile(*r)
		default:
			if is := c.fate(r.name); is == gone || is == absent {
				r.verdict = over
			}
		}
	}
	return s, err
}

// judgeFile judges the record of an open file that is not ours.
func (c *contender) judgeFile(r record) (verdict, *openFile) {
	where := c.here.reach(r.owner.machine)
	moved, searched := c.found[r.name]
	switch {
	case where == past, searched && moved == nil:
		return over, nil
	case where != here:
		return distant, nil
	case searched && c.At(r.name, moved) == alive:
		return held, moved
	case r.owner.namespace == c.here.namespace:
		if c.At(r.name, r.file) == absent {
			return lost, nil
		}
		return held, nil
	case c.here.isOutermost(): // which sees the processes of all others
		return lost, nil
	}
	return distant, nil
}

// maySearch reports whether something is lost for which this contender searches. Who finds waiters before it leaves that to them,
// until nothing has happened for a while.
func (c *contender) maySearch(s *snapshot) bool {
	return s.hasVerdict(lost) && (c.Try || c.timedOut || len(s.waiters) == 0 || s.waiters[0] == c.self.name)
}

// search looks for the open files that are not where their records say, once. If there is one and several are lost, nothing tells
// whose it is, and all of them are held.
//
// Who has just made a record has the token until its open file is marked. So a record is searched for only if a listing after the
// one that has shown it shows the token with somebody else.
func (c *contender) search(s *snapshot) {
	if !c.maySearch(s) {
		return
	}
	later, err := c.list()
	if err != nil || len(later.tokens) != 1 {
		return
	}
	maker := idOf(later.tokens[0])
	if c.fate(later.nameOf(maker)) == gone {
		maker = "" // it has died before it could mark
	}
	var wanted, known []*openFile
	for i, r := range s.holders {
		switch {
		case r.file == nil:
		case r.verdict == lost && (r.id == maker || s.hasTwin(r)):
			s.holders[i].verdict = held
		case r.verdict == lost:
			wanted = append(wanted, r.file)
		case r.moved != nil:
			known = append(known, r.moved)
		case r.verdict == held:
			known = append(known, r.file)
		}
	}
	if wanted == nil {
		return
	}
	at, answer := c.Search(wanted, known)
	for i := range s.holders {
		r := &s.holders[i]
		if r.verdict != lost {
			continue
		}
		r.verdict = held
		switch {
		case answer == gone:
			r.verdict = over
			c.found[r.name] = nil
		case answer == alive && at != r.file.place && len(wanted) == 1 && r.owner.namespace == c.here.namespace:
			moved := *r.file
			moved.place = at
			r.moved = &moved
			c.found[r.name] = r.moved
		}
	}
}

// hasTwin reports whether another record says that its process has an open file with the same mark: if that process has moved its
// descriptors, the file at one record's place may be the other's.
func (s *snapshot) hasTwin(of record) bool {
	return slices.ContainsFunc(s.holders, func(r record) bool {
		return r.file != nil && r.name != of.name && r.verdict != lost && r.file.pid == of.file.pid && r.file.mark == of.file.mark
	})
}

// hasNews reports whether a search has found something that is not written down yet.
func (s *snapshot) hasNews() bool {
	return slices.ContainsFunc(s.holders, func(r record) bool { return r.moved != nil })
}

func (s *snapshot) hasVerdict(x verdict) bool {
	return slices.ContainsFunc(s.holders, func(r record) bool { return r.verdict == x })
}

// keepers returns the holders that keep us out, nil: nobody does.
func (c *contender) keepers(s snapshot) (ks []record) {
	var permits []record
	inode := uint64(0)
	for _, r := range s.holders {
		if r.file != nil && inode == 0 {
			inode = c.Inode()
		}
		switch {
		case r.verdict == over, r.verdict == ours:
		case r.file != nil && inode != 0 && r.file.inode != inode: // the file was removed and made anew
		case c.Mode == Exclusive, r.mode == Exclusive:
			ks = append(ks, r)
		case c.Mode == Permit && r.mode == Permit:
			permits = append(permits, r)
		}
	}
	if ks == nil && c.Mode == Permit && len(permits) >= c.Permits {
		return permits
	}
	return ks
}
