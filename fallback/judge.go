package fallback

import (
	"slices"

	"example.org/flock/internal/openfile"
)

// A record whose owner names a file stands for an open file: the lock lasts as long as somebody has that open, whoever it
// is. The open file has a mark, which the kernel keeps exactly as long. This file finds the open file that answers for a
// record.
//
// One open file answers for at most one record. First each record takes the open file at the descriptor that its owner
// names. Each record that is left then takes one that no other has taken: in its own process (a shell moves descriptors),
// then in any. A record for which none is left is nobody's. When in doubt, somebody has the lock.
//
// Nothing tells which of two open files stands for which record. So where a search is needed, all records take part. If
// those that are left are of several kinds, the kinds take open files one after the other, from all processes, in the order
// of the harm that a wrong removal would do: the token, then permits, of which one too few would let one more in, then
// shared locks. So a shared lock may find no open file because a permit that is over took it, and none of these records is
// removed while any of them has an open file. In the same order, a record for which no open file is left may have that of
// another record, where a shell moves descriptors back and forth: see mayBeAt.
//
// Descriptors also move while they are looked at: an open file is seen at two numbers or at none, and another one at its
// number. So what stands still is looked at first: mostly another process has the same open files, be it our own. Only what
// is not found there is searched where descriptors move, again and again. What remains uncertain is in doubt. Then no record
// is nobody's, none is ours for certain, and the caller looks again.

// A verdict is what is known of a record.
type verdict uint8

const (
	undecided verdict = iota
	gone              // nobody has this lock any more, for good
	held              // somebody else has it, or may have it
	ours
)

// A judged record has a verdict and, where its open file was found at another descriptor than its owner says, that
// descriptor.
type judged struct {
	record
	verdict
	there openfile.State // what was seen at the descriptor that the owner says
	moved *descriptor
	// isGuess says that the open file that was found may be that of another record, maybe of another kind, or that another
	// record has taken the open file of this one. Nothing shows whose it is. So the record is not ours, even if the open file
	// is; and none of these records is removed until it is certain that there is no open file for any of them.
	isGuess bool
}

type descriptor struct{ pid, number int }

func (o owner) descriptor() descriptor { return descriptor{o.pid, o.number} }

// isAt reports whether a record says that its open file is at p. If another one is there by now, the record is to be
// followed to where its own is before that other one gets a record.
func (r record) isAt(p descriptor) bool {
	return r.owner.mark != openfile.None && r.owner.descriptor() == p
}

// judge judges all records of the snapshot s.
func (c *call) judge(s snapshot) []judged {
	rs := s.holders
	if s.token.word != free && s.token.name != c.busy {
		rs = append([]record{s.token}, rs...)
	}
	js, _ := c.glanceAt(rs, 0)
	c.search(js)
	return js
}

// judgeCurrent judges the records rs for an attempt, and all others if it has to search; see glanceAt for enough. If a
// record that needs a search does not stand any more, as when a short command has ended meanwhile, the snapshot is outdated,
// and nothing is judged.
func (c *call) judgeCurrent(s snapshot, rs []record, enough int) (js []judged, isCurrent bool) {
	js, isEnough := c.glanceAt(rs, enough)
	if isEnough || !slices.ContainsFunc(js, judged.isUndecided) {
		return js, true
	}
	for _, j := range js {
		if j.isUndecided() {
			if there, err := c.Exists(j.name); !there && err == nil {
				return nil, false
			}
		}
	}
	if c.othersSearch(s) {
		c.inDoubt, c.deferred = true, true
		for i := range js {
			if js[i].isUndecided() {
				js[i].verdict = held
			}
		}
		return js, true
	}
	return c.judge(s), true
}

func (j judged) isUndecided() bool { return j.verdict == undecided }

// glanceAt judges the records rs by their own processes, the token first and then those of permits. If it is not 0, enough
// is how many that keep us out are enough: the other records are not judged then.
func (c *call) glanceAt(rs []record, enough int) (js []judged, isEnough bool) {
	at := map[int][]descriptor{} // by process
	var permits []descriptor
	hasOurs := false
	n := 0
	for _, r := range slices.SortedStableFunc(slices.Values(rs), func(r, t record) int { return r.rank() - t.rank() }) {
		j := judged{record: r}
		j.verdict, j.there = c.glance(r)
		if p := r.owner.descriptor(); j.verdict >= held && r.owner.mark != openfile.None && !c.lock.made(r.owner) {
			search := c.searchFor(r.owner)
			if j.verdict == ours && hasOurs || c.isOneOf(p, at[p.pid], search, true) != openfile.Different ||
				c.isOneOf(p, permits, search, false) == openfile.Equal {
				j.verdict = undecided // the open file there answers for another record, or may
			}
			if r.word == permit { // these are counted
				permits = append(permits, p)
			}
			at[p.pid], hasOurs = append(at[p.pid], p), hasOurs || j.verdict == ours
		}
		js = append(js, j)
		if j.verdict == held && c.excludes(r) {
			if n++; n == enough {
				return js, true
			}
		}
	}
	// If there is ours, it is not another one as well.
	for i := 0; i < len(js) && !slices.ContainsFunc(js, judged.isOurs); i++ {
		if j := &js[i]; j.verdict == held && j.there == openfile.Found {
			j.verdict = c.whose(j.owner, j.owner.descriptor(), true)
		}
	}
	return js, false
}

func (j judged) isOurs() bool { return j.verdict == ours }

// rank is where a record stands in the order in which open files are given to records.
func (r record) rank() int {
	switch {
	case r.isToken():
		return 0
	case r.word == permit:
		return 1
	}
	return 2
}

// glance judges a record by its own process, which mostly is enough, and returns what it has seen at the owner's descriptor.
func (c *call) glance(r record) (v verdict, there openfile.State) {
	o := r.owner
	if c.lock.made(o) {
		return ours, openfile.Hidden
	}
	switch here().reach(o.machine) {
	case unknown:
		return held, openfile.Hidden
	case dead:
		return gone, openfile.Gone
	}
	if r.word == busy || o.file == "" {
		return c.judgeProcess(o), openfile.Hidden
	}
	there = c.At(c.searchFor(o), o.descriptor())
	switch there {
	case openfile.Found:
		return c.whose(o, o.descriptor(), false), there
	case openfile.Hidden:
		if v := c.judgeProcess(o); v != gone {
			return v, there
		}
	}
	if o.mark == openfile.None {
		return gone, there
	}
	return undecided, there
}

// judgeProcess judges an owner by the life of its process.
func (c *call) judgeProcess(o owner) verdict {
	switch {
	case c.Fate(o) == dead:
		return gone
	case o.same(c.lock.owner):
		return ours // another process may have locked for the same owner
	}
	return held
}

// whose judges an owner for which the open file at p answers; see system for steady.
func (c *call) whose(o owner, p descriptor, steady bool) verdict {
	if o.mark != openfile.None && !c.Has(o.mark) {
		return held
	}
	switch c.CompareOurs(c.searchFor(o), p, steady) {
	case openfile.Equal:
		return ours
	case openfile.Unsure:
		c.inDoubt = c.inDoubt || steady
	case openfile.Unknown:
		if o.mark == openfile.None && o.same(c.lock.owner) {
			return ours
		}
	}
	return held
}

// searchFor returns what to look for to find the open file of an owner.
func (c *call) searchFor(o owner) openfile.Search {
	files := []string{o.file}
	if c.file != "" && c.file != o.file {
		files = append(files, c.file)
	}
	return openfile.Search{Files: files, Mark: o.mark}
}

// divide returns the records of js that are to be searched: those that are undecided, because their open file is not at its
// descriptor, and the others of a process that moves its descriptors. there are those whose open files are where they say.
// wasMixed says that those that are undecided are of several kinds.
func (c *call) divide(js []judged) (left []*judged, there []record, wasMixed bool) {
	moving := map[int]bool{}
	for i := range js {
		if j := &js[i]; j.isUndecided() {
			left = append(left, j)
			moving[j.owner.pid] = moving[j.owner.pid] || c.Moves(j.owner.pid)
		}
	}
	wasMixed = areMixed(left)
	for i := range js {
		switch j := &js[i]; {
		case j.isUndecided(), j.owner.mark == openfile.None, here().reach(j.owner.machine) != alive:
		case moving[j.owner.pid] && !c.lock.made(j.owner):
			j.verdict = undecided
			left = append(left, j)
		default:
			there = append(there, j.record)
		}
	}
	slices.SortStableFunc(left, func(j, k *judged) int { return j.rank() - k.rank() })
	return left, there, wasMixed
}

// areMixed reports whether records are of several kinds.
func areMixed(js []*judged) bool {
	return slices.ContainsFunc(js, func(j *judged) bool { return j.rank() != js[0].rank() })
}

// search judges the records of js that are undecided. js are all records.
func (c *call) search(js []judged) {
	left, there, wasMixed := c.divide(js)
	if len(left) == 0 {
		return
	}
	var taken []descriptor
	for _, r := range there {
		taken = append(taken, r.owner.descriptor())
	}
	isMixed := areMixed(left)
	if !isMixed {
		taken = c.searchOwn(left, taken)
	}
	for _, mark := range []openfile.Mark{openfile.NoAtime, openfile.NonBlock} {
		with := slices.DeleteFunc(slices.Clone(left), func(j *judged) bool { return !j.isUndecided() || j.owner.mark != mark })
		if len(with) > 0 {
			c.searchEverywhere(mark, with, taken)
		}
	}
	isTwice := slices.ContainsFunc(left, func(j *judged) bool { return c.isTakenTwice(j, js) })
	for _, j := range left {
		if j.verdict != gone {
			continue
		}
		if i := slices.IndexFunc(there, func(r record) bool { return c.mayBeAt(j, r) }); i >= 0 {
			p := there[i].owner.descriptor()
			j.verdict, j.moved, j.isGuess = held, &p, true
		}
	}
	isOutdated := isTwice || c.isOutdated(there)
	isTaken := slices.ContainsFunc(left, func(j *judged) bool { return j.moved != nil })
	isMissing := slices.ContainsFunc(left, func(j *judged) bool { return j.verdict == gone })
	// Where several kinds take open files, one may have got that of another. Records that are searched only because their
	// process moves bring another kind in that matters only if one is left without.
	isGuess := isOutdated || isTaken && (wasMixed || isMixed && isMissing)
	for _, j := range left {
		j.isGuess = j.isGuess || isGuess
		if isOutdated || j.isGuess && j.verdict == ours {
			j.verdict = held
		}
	}
	c.inDoubt = c.inDoubt || isOutdated
	c.doubtOurs(js, left)
}

// doubtOurs takes none for ours if our open file seems to answer for two records, or for one of a process where one of
// another kind, one of left, has been moved: they may have been taken for each other.
func (c *call) doubtOurs(js []judged, left []*judged) {
	var own []*judged
	for i := range js {
		if j := &js[i]; j.verdict == ours && j.owner.mark != openfile.None && !c.lock.made(j.owner) {
			own = append(own, j)
		}
	}
	if len(own) == 0 || len(own) == 1 && !slices.ContainsFunc(left, func(j *judged) bool {
		return j.moved != nil && j.owner.pid == own[0].owner.pid && j.rank() != own[0].rank()
	}) {
		return
	}
	c.inDoubt = true
	for _, j := range own {
		j.verdict, j.isGuess = held, true
	}
}

// isOutdated reports whether the records that were there have open files elsewhere by now, or may have. Of a process that
// has ended meanwhile, nothing tells which open file it had.
func (c *call) isOutdated(there []record) bool {
	return c.inDoubt || slices.ContainsFunc(there, func(r record) bool {
		state := c.At(c.searchFor(r.owner), r.owner.descriptor())
		return state != openfile.Found && state != openfile.Hidden
	})
}

// isTakenTwice reports whether the open file that was found for j is that of another record, too, or may be: one that moves
// is found at two descriptors.
func (c *call) isTakenTwice(j *judged, js []judged) bool {
	return j.moved != nil && slices.ContainsFunc(js, func(k judged) bool {
		p := k.owner.descriptor()
		if k.moved != nil {
			p = *k.moved
		}
		switch {
		case k.name == j.name, k.verdict < held, k.owner.mark != j.owner.mark, here().reach(k.owner.machine) != alive:
			return false
		}
		r := c.Compare(c.searchFor(j.owner), *j.moved, p, true)
		return r == openfile.Equal || r == openfile.Unsure
	})
}

// mayBeAt reports whether the open file where the record r says that its own is may be that of j, a record whose wrong
// removal would do more harm. A shell leaves both when it has moved a descriptor, has locked another open file under its
// number, and has moved it back; then j may be of a child of the shell.
func (c *call) mayBeAt(j *judged, r record) bool {
	return r.rank() > j.rank() && !r.owner.fixed && c.At(c.searchFor(j.owner), r.owner.descriptor()) != openfile.Absent
}

// searchOwn judges the records that are left by the open files of their own processes, and returns which are taken then.
func (c *call) searchOwn(left []*judged, taken []descriptor) []descriptor {
	for _, j := range left {
		if j.there == openfile.Gone {
			continue
		}
		g := c.gather(c.searchFor(j.owner), taken, 1)
		s := g.search()
		s.OnlyStill = len(left)+len(taken) > 1 || c.mayHave() // else there is nothing to compare it with
		c.In(s, j.owner.pid, true)
		if len(g.found) > 0 {
			p := g.found[0]
			j.verdict, j.moved, j.isGuess = c.whose(j.owner, p, true), &p, len(g.found) > 1
			taken = append(taken, p)
		}
	}
	return taken
}

// isOneOf compares p, which was found, with the others: it is Equal to one of them, or Different from all. Without kcmp(2)
// only our own is known, by its mark.
func (c *call) isOneOf(p descriptor, others []descriptor, s openfile.Search, steady bool) openfile.Comparison {
	result := openfile.Different
	for _, q := range others {
		if p == q {
			return openfile.Equal
		}
		r := c.Compare(s, p, q, steady)
		if r == openfile.Unsure && !steady && c.Moves(p.pid) { // maybe one open file, which is never at both at once
			r = c.Compare(s, p, q, true)
		}
		if r == openfile.Unknown && c.Has(s.Mark) {
			r = min(c.CompareOurs(s, p, steady), c.CompareOurs(s, q, steady))
		}
		switch r {
		case openfile.Equal:
			return r
		case openfile.Unsure:
			result = r
		}
	}
	return result
}

// A gathering is the open files that a search finds, each once.
type gathering struct {
	*call
	among        openfile.Search
	taken, found []descriptor
	enough       int          // how many are to be found: where descriptors move, no more are searched
	isUnsure     bool         // whether one that was seen could not be compared
	isCompared   map[int]bool // processes that have some, and whether these have been compared
}

func (c *call) gather(among openfile.Search, taken []descriptor, enough int) *gathering {
	return &gathering{call: c, among: among, taken: taken, enough: enough, isCompared: map[int]bool{}}
}

// isSure reports whether all that were seen have been compared.
func (g *gathering) isSure() bool {
	for _, isCompared := range g.isCompared {
		if !isCompared {
			return false
		}
	}
	return !g.isUnsure
}

func (g *gathering) search() openfile.Search {
	s := g.among
	s.Accept = func(pid, number int) (isEnough bool) {
		g.isCompared[pid] = true
		p, known := descriptor{pid, number}, slices.Concat(g.taken, g.found)
		r := g.isOneOf(p, known, g.among, false)
		if r == openfile.Different && len(known) > 0 && g.Moves(pid) {
			r = g.isOneOf(p, known, g.among, true)
		}
		switch r {
		case openfile.Different:
			g.found = append(g.found, p)
		case openfile.Unsure:
			g.isUnsure = true
		}
		return len(g.found) >= g.enough
	}
	return s
}

// searchEverywhere judges the records that are left by the open files of all processes.
func (c *call) searchEverywhere(mark openfile.Mark, left []*judged, taken []descriptor) {
	files := openfile.Search{Mark: mark}
	for _, j := range left {
		files.Files = append(files.Files, c.searchFor(j.owner).Files...)
	}
	g := c.gather(files, taken, len(left))
	s := c.newScan(g.search(), func(pid int, _ []int) (done bool) {
		if _, seen := g.isCompared[pid]; !seen {
			g.isCompared[pid] = false
		}
		return len(g.found) > g.enough // it matters whether there are more
	})
	certain := false
	if o := left[0].owner; len(left) == 1 && o.opened && c.Age(o) < sure {
		_, certain = s.after(o.pid-1, o.pid, true)
	}
	if !certain {
		_, certain = s.everywhere()
	}
	found := g.found
	certain = certain && (g.isSure() || len(found) >= len(left))
	c.inDoubt = c.inDoubt || !certain
	isGuess := !certain || len(found) > len(left)
	for len(left) > 0 {
		n := slices.IndexFunc(left, func(j *judged) bool { return j.rank() > left[0].rank() })
		if n < 0 {
			n = len(left)
		}
		for _, isBest := range []func(o owner, p descriptor) bool{
			func(o owner, p descriptor) bool { return p.pid == o.pid },
			func(o owner, p descriptor) bool { return p.number == o.number },
			func(owner, descriptor) bool { return true },
		} {
			for _, j := range left[:n] {
				i := slices.IndexFunc(found, func(p descriptor) bool { return isBest(j.owner, p) })
				if j.isUndecided() && i >= 0 {
					p := found[i]
					j.verdict, j.moved, j.isGuess = c.whose(j.owner, p, true), &p, isGuess
					found = slices.Delete(found, i, i+1)
				}
			}
		}
		for _, j := range left[:n] {
			switch {
			case j.verdict == undecided && (!certain || c.isBare(files, j.owner)):
				j.verdict = held
			case j.verdict == undecided:
				j.verdict = gone
			}
		}
		left = left[n:]
	}
}

// isBare reports whether the open file of an owner may have lost its mark: some programs clear O_NONBLOCK on their standard
// input and output.
func (c *call) isBare(s openfile.Search, o owner) bool {
	return s.Mark == openfile.NonBlock && o.number <= 2 && c.Unmarked(s, o.descriptor())
}
