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

// A judged is a record and its verdict.
type judged struct {
	record
	verdict verdict
	moved   *openFile // where a search has found it
}

// A view is what one look at the state directory shows.
type view struct {
	snapshot
	holders []judged
}

// look lists the state directory, and judges the holders.
func (c *contender) look() (v view, err error) {
	if v.snapshot, err = c.list(); err != nil {
		return v, err
	}
	for _, r := range v.snapshot.holders {
		v.holders = append(v.holders, c.judge(r))
	}
	return v, nil
}

func (c *contender) judge(r record) (j judged) {
	j.record = r
	switch {
	case c.isOurs(r):
		j.verdict = ours
	case r.file != nil:
		j.verdict, j.moved = c.judgeFile(r)
	default:
		switch c.fate(r.name, r.owner) {
		case alive:
			j.verdict = held
		case unknown:
			j.verdict = distant
		}
	}
	return j
}

// judgeFile judges the record of an open file that is not ours.
func (c *contender) judgeFile(r record) (verdict, *openFile) {
	switch c.here.reach(r.owner.machine) {
	case past:
		return over, nil
	case here:
	default:
		return distant, nil
	}
	moved, searched := c.found[r.name]
	switch {
	case searched && moved == nil:
		return over, nil
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

// maySearch reports whether this contender makes the search for what is lost. Who finds waiters before it leaves that to them,
// until nothing has happened for a while.
func (c *contender) maySearch(v *view) bool {
	return c.Try || c.timedOut || len(v.waiters) == 0 || v.waiters[0] == c.self.name
}

// search looks for the open files that are not where their records say, once. If there is one and several are lost, nothing tells
// whose it is, and all of them are held.
//
// Who has just made a record has the token until its open file is marked. So a record is searched for only if a listing after the
// one that has shown it shows the token with somebody else.
func (c *contender) search(v *view) {
	if !v.hasVerdict(lost) {
		return
	}
	later, err := c.list()
	if err != nil || len(later.tokens) != 1 {
		return
	}
	maker := idOf(later.tokens[0])
	if r, ok := parseRecord(later.tokens[0]); ok && c.fate(later.nameOf(maker), r.owner) == gone {
		maker = "" // it has died before it could mark
	}
	var wanted, known []*openFile
	for i, j := range v.holders {
		switch {
		case j.file == nil:
		case j.verdict == lost && (j.id == maker || v.hasTwin(j)):
			v.holders[i].verdict = held
		case j.verdict == lost:
			wanted = append(wanted, j.file)
		case j.moved != nil:
			known = append(known, j.moved)
		case j.verdict == held:
			known = append(known, j.file)
		}
	}
	if wanted == nil {
		return
	}
	at, answer := c.Search(wanted, known)
	for i, j := range v.holders {
		if j.verdict != lost {
			continue
		}
		v.holders[i].verdict = held
		switch {
		case answer == gone:
			v.holders[i].verdict = over
			c.found[j.name] = nil
		case answer == alive && at != j.file.place && len(wanted) == 1 && j.owner.namespace == c.here.namespace:
			moved := *j.file
			moved.place = at
			v.holders[i].moved = &moved
			c.found[j.name] = &moved
		}
	}
}

// hasTwin reports whether another record says that its process has an open file with the same mark: if that process has moved its
// descriptors, the file at one record's place may be the other's.
func (v *view) hasTwin(of judged) bool {
	return slices.ContainsFunc(v.holders, func(j judged) bool {
		return j.file != nil && j.name != of.name && j.verdict != lost && j.file.pid == of.file.pid && j.file.mark == of.file.mark
	})
}

// hasNews reports whether a search has found something that is not written down yet.
func (v *view) hasNews() bool {
	return slices.ContainsFunc(v.holders, func(j judged) bool { return j.moved != nil })
}

func (v *view) hasVerdict(x verdict) bool {
	return slices.ContainsFunc(v.holders, func(j judged) bool { return j.verdict == x })
}

// keepers returns the holders that keep us out, nil: nobody does.
func (c *contender) keepers(v view) (ks []record) {
	var permits []record
	inode := uint64(0)
	for _, j := range v.holders {
		if j.file != nil && inode == 0 {
			inode = c.Inode()
		}
		switch {
		case j.verdict == over, j.verdict == ours:
		case j.file != nil && inode != 0 && j.file.inode != inode: // the file was removed and made anew
		case c.Mode == Exclusive, j.mode == Exclusive:
			ks = append(ks, j.record)
		case c.Mode == Permit && j.mode == Permit:
			permits = append(permits, j.record)
		}
	}
	if ks == nil && c.Mode == Permit && len(permits) >= c.Permits {
		return permits
	}
	return ks
}
