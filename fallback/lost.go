package fallback

import (
	"slices"

	"example.org/flock/fallback/openfile"
)

// This file is about open files that are lost: not where their records say. It decides who searches for them, and what
// a search proves.

// shallSearch reports whether something is lost for which this attempt searches. Who finds waiters before it leaves
// that to them: a search looks into every process. isForUs says that nothing has happened for a while.
func (a *attempt) shallSearch(s *snapshot, isForUs bool) bool {
	switch {
	case !s.has(lost):
		return false
	case a.request.Try: // which does not come again
		return true
	case isForUs: // those before us may be stopped
		return true
	case len(s.waiters) == 0, s.waiters[0] == a.self.name: // we are the first
		return true
	case a.lacksSignal(s): // what keeps us out does not keep out those before us
		return true
	}
	return a.wouldHide(s)
}

// wouldHide reports whether the record of something lost names the same descriptor of the same process as ours would.
// Then the search has to be made before ours has its mark. Say that a shell locks in a loop:
//
//	{ flock -s 9; } 9<f   its record is shared,A@9, and is lost when the block ends
//	{ flock -s 9; } 9<f   another open file: once it has its mark, whoever looks at 9 takes it for that of A
func (a *attempt) wouldHide(s *snapshot) bool {
	if a.holding != byOpenFile {
		return false
	}
	at, err := a.Locate()
	if err != nil {
		return false // holdByFile reports it
	}
	return slices.ContainsFunc(s.holders, func(r record) bool {
		return r.verdict == lost && r.file.PID == at.PID && r.file.Number == at.Number
	})
}

// search looks for the open files that are lost, once, and judges them anew. Three sets of records matter then: those
// whose open files were seen, which a search passes over; those that it looks for; and those that are unsearchable.
//
// If no listing shows the token it does nothing, and what is lost stays so.
func (a *attempt) search(s *snapshot) (isMade bool) {
	unmarked, ok := a.mayBeUnmarked()
	if !ok {
		return false
	}
	s.judgeUnsearchable(unmarked)
	wanted := s.lostRecords()
	if len(wanted) == 0 {
		return true
	}
	shallStop := func() bool { return a.isLate() || a.isCancelled() }
	q := openfile.Query{Accounted: s.seenFiles(), Since: a.earliestStart(wanted), ShallStop: shallStop}
	for _, r := range wanted {
		q.Wanted = append(q.Wanted, r.file)
		q.TellRefused = q.TellRefused || a.isAnothers(*r)
	}
	v := a.Search(q)
	for _, r := range wanted {
		r.verdict = a.conclude(v, *r)
		a.provenOver[r.name] = r.verdict == over
	}
	if len(wanted) == 1 {
		a.noteMoved(v, wanted[0])
	}
	return true
}

// mayBeUnmarked returns the ID of the one record whose open file may not have its mark yet, "" if there is none. If it
// is not ok, that is not known: a listing does not show the token, or fails, which the next look reports.
//
// A record is made, its file marked, and the token freed by one process. So of the records that our look has shown,
// only that of who has the token after the look can be without its mark:
//
//	we look       busy,A and excl,A@9    A has made its record
//	we list it    busy,A                 it may not have marked its file yet
//	              free                   it has
//	              busy,B                 it has, and whatever B makes is younger than our look
func (a *attempt) mayBeUnmarked() (id string, ok bool) {
	later, err := a.list()
	if err != nil || later.token() == "" {
		return "", false
	}
	id = idOf(later.token()) // "" of a free token, whose lifeline has no name
	if a.ask(later.lifelineOf(id)) == noReader {
		id = "" // it has died before it could mark
	}
	return id, true
}

// judgeUnsearchable judges those lost records whose open files a search could miss: the one with the ID unmarked, whose
// file may not have its mark yet, and those of a process with several records. Say that a shell has locked two files:
//
//	                                at 9        at 10       its records
//	flock -s 9; flock -s 10         the first   the second  shared,A@9  shared,B@10
//	exec 9<&-; exec 9<&10 10<&-     the second  nothing     what is at 9 answers for A, and B is lost
//
// A search for B would pass over what is at 9, because that was seen, and find nothing.
func (s *snapshot) judgeUnsearchable(unmarked string) {
	for i := range s.holders {
		r := &s.holders[i]
		if r.verdict == lost && (r.id == unmarked || s.sharesProcess(*r)) {
			r.verdict = unsearchable
		}
	}
}

// sharesProcess reports whether there is another record of the same process, whose open file is there or may be. One
// that is ours does not count: its signal says that it is the one of its record.
func (s *snapshot) sharesProcess(r record) bool {
	return slices.ContainsFunc(s.holders, func(o record) bool {
		isAnother := o.file != nil && o.name != r.name
		isThere := o.verdict == held || o.verdict == unsearchable || o.verdict == doubtful
		return isAnother && isThere && o.file.PID == r.file.PID
	})
}

// lostRecords returns the records whose open files are to be searched for.
func (s *snapshot) lostRecords() (rs []*record) {
	for i := range s.holders {
		if r := &s.holders[i]; r.verdict == lost {
			rs = append(rs, r)
		}
	}
	return rs
}

// seenFiles returns the open files that are where their records say, or where an earlier search has found them.
func (s *snapshot) seenFiles() (seen []*openfile.File) {
	for _, r := range s.holders {
		switch {
		case r.moved != nil:
			seen = append(seen, r.moved)
		case r.isSeen:
			seen = append(seen, r.file)
		}
	}
	return seen
}

// noteMoved notes where a search has found the one open file that it was for. Of another pid namespace the record
// could not say so.
func (a *attempt) noteMoved(v openfile.View, r *record) {
	if v.Found && v.Certain && v.At != r.file.Location && a.Machine().pidNS.is(r.owner.pidNS) {
		moved := *r.file
		moved.Location = v.At
		r.moved, a.found[r.name] = &moved, &moved
		r.isSeen = true
	}
}

// earliestStart returns the earliest LockerStart of these, of which there is one, 0 if it is unknown.
func (a *attempt) earliestStart(wanted []*record) (start uint64) {
	start = wanted[0].file.LockerStart
	for _, r := range wanted {
		if !a.Machine().pidNS.sharesClock(r.owner.pidNS) {
			return 0
		}
		start = min(start, r.file.LockerStart)
	}
	return start
}

// conclude judges a record that was searched for. If one open file is found and several are searched for, nothing tells
// whose it is, and all are held. What a search has not come to the end of stays lost: a later one can tell.
func (a *attempt) conclude(v openfile.View, r record) verdict {
	switch {
	case v.Found:
		return held
	case !v.Complete:
		return lost
	case !a.proves(v, r):
		return doubtful
	}
	return over
}

// proves reports whether a search that has found nothing proves that nobody has the open file of a record:
//
//	whose record it is    who searches                              is it proven?
//	of our user and group anybody                                   yes, whoever refuses
//	of somebody else      root, who sees all                        if nobody refuses
//	                      who sees all processes of that user       if nobody refuses who can have inherited it
//	                      anybody else                              no
//
// Every login has processes of its own user that may not be looked into (sshd, (sd-pam)), and there may be some in
// another group: to count those would hold every lock for ever.
func (a *attempt) proves(v openfile.View, r record) bool {
	switch {
	case !a.isAnothers(r):
		return true
	case a.SeesAll():
		return len(v.Refused) == 0
	case a.seesUserOf(r):
		return !slices.ContainsFunc(v.Refused, func(p openfile.Process) bool { return a.mayHaveInherited(p, r) })
	}
	return false
}

// seesUserOf reports whether /proc shows all processes that can have the open file of another user's record, and which
// of them are that user's.
func (a *attempt) seesUserOf(r record) bool {
	m := a.Machine()
	return m.pidNS.is(r.owner.pidNS) && m.user.namespace == r.owner.user.namespace && !a.HidesProcesses()
}

// isAnothers reports whether a record is that of another user, of another group of the user, or of another pid
// namespace.
func (a *attempt) isAnothers(r record) bool {
	m := a.Machine()
	return !m.pidNS.is(r.owner.pidNS) || !m.user.is(r.owner.user)
}

// mayHaveInherited reports whether it cannot be excluded that a process that may not be looked into has the open file
// of another's record: it is not older than the process that has locked, which is taken for the oldest that has the
// file (see File.LockerStart), and it is of that user, or may be.
func (a *attempt) mayHaveInherited(p openfile.Process, r record) bool {
	m, theirs := a.Machine(), r.owner.user
	isComparable := p.Start != 0 && m.pidNS.sharesClock(r.owner.pidNS)
	isTheirs := slices.Contains(p.Users, theirs.number)
	switch {
	case isComparable && p.Start < r.file.LockerStart:
		return false
	case p.Users == nil: // nothing tells whose it is
		return true
	case theirs.number == m.user.number:
		// The record is of another group of our user. What refuses us is of that group, or protects itself, as some
		// processes of each login do. The same if we are root.
		return isTheirs && !p.IsProtected && slices.Contains(p.Groups, theirs.group)
	case theirs.number == "0": // root's children may have become any user's
		return true
	}
	return isTheirs
}
