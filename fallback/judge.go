package fallback

import "slices"

// look lists the state directory, and judges each holder.
func (a *attempt) look() (snapshot, error) {
	s, err := a.list()
	for i := range s.holders {
		r := &s.holders[i]
		switch {
		case a.isOurs(*r):
			r.verdict = ours
		case r.file != nil:
			r.verdict, r.moved = a.judgeFile(*r)
			r.isSeen = r.verdict == held
		default:
			r.verdict = a.judgeLifeline(r.name)
		}
	}
	return s, err
}

// judgeLifeline judges a holder that has a lifeline.
func (a *attempt) judgeLifeline(name string) verdict {
	switch a.ask(name) {
	case alive:
		return held
	case gone:
		return over
	case absent:
		// It was renamed or removed since the listing. Who has the token sees that only of one that was released; and
		// without the token nobody enters by what this look has shown.
		return over
	}
	return doubtful
}

// ask asks whether anybody has a lifeline, if that can be asked from here.
func (a *attempt) ask(name string) answer {
	o, ok := parseOwner(idOf(name))
	if !ok { // it is no lifeline of a flock
		return absent
	}
	switch a.Machine().reach(o.machine) {
	case here:
		return a.Ask(name)
	case past:
		return gone
	}
	return unknown
}

// judgeFile judges a holder that is an open file, and not ours. moved is where it is, if the record does not say it.
func (a *attempt) judgeFile(r record) (is verdict, moved *openFile) {
	if a.vanished[r.name] {
		return over, nil
	}
	if at := a.found[r.name]; at != nil && a.At(at, true) == alive { // its start was read here, with our clock
		return held, at
	}
	m := a.Machine()
	switch m.reach(r.owner.machine) {
	case past:
		return over, nil
	case mounted, far:
		return doubtful, nil
	}
	if !m.pids.is(r.owner.pids) {
		// Its process id means another process here, if any.
		if a.SeesAll() {
			return lost, nil
		}
		return doubtful, nil
	}
	switch a.At(r.file, m.pids.sharesClock(r.owner.pids)) {
	case alive:
		return held, nil
	case absent:
		return lost, nil
	}
	return doubtful, nil
}

// shallSearch reports whether something is lost for which this attempt searches. Who finds waiters before it leaves
// that to them, until nothing has happened for a while: a search looks into every process.
func (a *attempt) shallSearch(s *snapshot, isIdle bool) bool {
	switch {
	case !s.has(lost):
		return false
	case a.request.Try, isIdle:
		return true
	case len(s.waiters) == 0, s.waiters[0] == a.self.name:
		return true
	case a.lacksSignal(s):
		return true
	}
	return a.wouldHide(s)
}

// wouldHide reports whether the record of something lost names the same descriptor of the same process as ours would: a
// shell that locks in a loop has each open file under the same number. Once ours has its mark, a look at that
// descriptor would take it for the lost one. So the search has to be made before.
func (a *attempt) wouldHide(s *snapshot) bool {
	if a.holding != byOpenFile {
		return false
	}
	at, err := a.Place()
	if err != nil {
		return false // holdByFile reports it
	}
	return slices.ContainsFunc(s.holders, func(r record) bool {
		return r.verdict == lost && r.file.pid == at.pid && r.file.number == at.number
	})
}

// search looks for the open files that are not where their records say, once, and judges them anew. If no listing shows
// the token it does nothing, which it reports, and what is lost stays so.
func (a *attempt) search(s *snapshot) (isMade bool) {
	maker, isKnown := a.whoMayMark()
	if !isKnown {
		return false
	}
	s.keepUnsearchable(maker)
	wanted := s.lost()
	if len(wanted) == 0 {
		return true
	}
	q := query{known: s.seenFiles(), since: a.sinceWhen(wanted), until: a.request.Deadline}
	for _, r := range wanted {
		q.wanted = append(q.wanted, r.file)
		q.strangers = q.strangers || a.isAnothers(*r)
	}
	v := a.Search(q)
	for _, r := range wanted {
		r.verdict = a.conclude(v, *r)
		a.vanished[r.name] = r.verdict == over
	}
	if len(wanted) == 1 {
		a.noteMoved(v, wanted[0])
	}
	return true
}

// whoMayMark returns the ID of who may have made the record of an open file and not marked that yet, "" if nobody has.
// A record is made, its file marked, and the token freed by one owner of the token. So of the records in an earlier
// listing, only that of who has the token in a later one can be without its mark. The ID is not known if that does not
// show the token, or fails, which the next look reports.
func (a *attempt) whoMayMark() (id string, isKnown bool) {
	later, err := a.list()
	if err != nil || later.token() == "" {
		return "", false
	}
	id = idOf(later.token()) // "" of a free token, whose lifeline is absent
	if a.ask(later.lifelineOf(id)) == gone {
		id = "" // it has died before it could mark
	}
	return id, true
}

// keepUnsearchable has lost records count as held, without a search, where that could miss their open files.
//
// One is the record of maker, whose file may not have its mark yet. The others are those of a process with several
// records. Say that a shell has locked two open files, at 9 and at 10. It closes 9, and moves the other one from 10 to
// 9. Then what is at 9 answers for the record of 9, though it is that of 10, and the record of 10 is lost. A search
// would pass over what is at 9, because it is known.
func (s *snapshot) keepUnsearchable(maker string) {
	for i := range s.holders {
		r := &s.holders[i]
		if r.verdict == lost && (r.id == maker || s.sharesProcess(*r)) {
			r.verdict = held
		}
	}
}

// lost returns the records whose open files are to be searched for.
func (s *snapshot) lost() (rs []*record) {
	for i := range s.holders {
		if r := &s.holders[i]; r.verdict == lost {
			rs = append(rs, r)
		}
	}
	return rs
}

// seenFiles returns the open files that are where their records say, or where an earlier search has found them.
func (s *snapshot) seenFiles() (known []*openFile) {
	for _, r := range s.holders {
		switch {
		case r.moved != nil:
			known = append(known, r.moved)
		case r.isSeen:
			known = append(known, r.file)
		}
	}
	return known
}

// noteMoved notes where a search has found the one open file that it was for. Of another pid namespace the record
// could not say so.
func (a *attempt) noteMoved(v view, r *record) {
	if v.found && v.certain && v.at != r.file.place && a.Machine().pids.is(r.owner.pids) {
		moved := *r.file
		moved.place = v.at
		r.moved, a.found[r.name] = &moved, &moved
		r.isSeen = true
	}
}

// sinceWhen returns the start of the eldest process that has locked one of these, 0 if that is unknown. Whoever has
// inherited the open file from it was started later.
func (a *attempt) sinceWhen(wanted []*record) (start uint64) {
	for i, r := range wanted {
		if !a.Machine().pids.sharesClock(r.owner.pids) {
			return 0
		}
		if i == 0 || r.file.locker < start {
			start = r.file.locker
		}
	}
	return start
}

// conclude judges a record that was searched for. If one open file is found and several are searched for, nothing tells
// whose it is, and all are held.
func (a *attempt) conclude(v view, r record) verdict {
	switch {
	case v.found:
		return held
	case !v.complete || !a.proves(v, r):
		return doubtful
	}
	return over
}

// proves reports whether a search that has found nothing proves that nobody has the open file of a record.
func (a *attempt) proves(v view, r record) bool {
	switch {
	case !a.isAnothers(r):
		// Every login has processes of its own user that may not be looked into (sshd, (sd-pam)), and there may be some
		// in another group. To count them would hold every lock for ever.
		return true
	case a.SeesAll():
		return len(v.refused) == 0
	case !a.seesUserOf(r):
		return false
	}
	return !slices.ContainsFunc(v.refused, func(p process) bool { return a.mayHaveInherited(p, r) })
}

// seesUserOf reports whether /proc shows all processes that can have the open file of another user's record, and which
// of them are that user's.
func (a *attempt) seesUserOf(r record) bool {
	m := a.Machine()
	return m.pids.is(r.owner.pids) && m.user.namespace == r.owner.user.namespace && !a.HidesProcesses()
}

// isAnothers reports whether a record is that of another user, of another group of the user, or of another pid
// namespace.
func (a *attempt) isAnothers(r record) bool {
	m := a.Machine()
	return !m.pids.is(r.owner.pids) || !m.user.is(r.owner.user)
}

// mayHaveInherited reports whether a process that may not be looked into can have the open file of another's record: it
// is not older than the process that has locked, and it is of that user, or may be.
func (a *attempt) mayHaveInherited(p process, r record) bool {
	m := a.Machine()
	isComparable := p.start != 0 && r.file.locker != 0 && m.pids.sharesClock(r.owner.pids)
	if isComparable && p.start < r.file.locker {
		return false
	}
	theirs := r.owner.user
	isTheirs := slices.Contains(p.users, theirs.number)
	switch {
	case p.users == nil: // nothing tells whose it is
		return true
	case theirs.number == m.user.number:
		// Root, too. It refuses for its group, or it protects itself, as some of each login do.
		return isTheirs && !p.isProtected && slices.Contains(p.groups, theirs.group)
	case theirs.number == "0": // whose children may have become any user's
		return true
	}
	return isTheirs
}

// sharesProcess reports whether there is another record of the same process, whose open file is there or may be. One
// that is ours does not count: its signal says that it is the one of its record.
func (s *snapshot) sharesProcess(lost record) bool {
	return slices.ContainsFunc(s.holders, func(r record) bool {
		isAnother := r.file != nil && r.name != lost.name
		isThere := r.verdict == held || r.verdict == doubtful
		return isAnother && isThere && r.file.pid == lost.file.pid
	})
}

func (s *snapshot) has(v verdict) bool {
	return slices.ContainsFunc(s.holders, func(r record) bool { return r.verdict == v })
}

// hasMoved reports whether a search has found something that its record does not say yet.
func (s *snapshot) hasMoved() bool {
	return slices.ContainsFunc(s.holders, func(r record) bool { return r.moved != nil })
}

// keepers returns the holders that keep us out; none: nobody does.
func (a *attempt) keepers(s *snapshot) []record {
	var excluding, permits []record
	for _, r := range s.holders {
		switch {
		case r.verdict == over, r.verdict == ours, !a.isOfOurFile(r):
		case a.request.Mode == Exclusive, r.mode == Exclusive:
			excluding = append(excluding, r)
		case a.request.Mode == Permit && r.mode == Permit:
			permits = append(permits, r)
		}
	}
	if len(excluding) == 0 && a.request.Mode == Permit && len(permits) >= a.request.Permits {
		return permits
	}
	return excluding
}

// isOfOurFile reports whether a holder has the file that we lock, or may have it. A lifeline holds the name; an open
// file can be of a file that was removed and made anew, and then it concerns nobody who has the new one. By another
// mount the same file can have another inode number.
func (a *attempt) isOfOurFile(r record) bool {
	if r.file == nil || a.Machine().reach(r.owner.machine) != here {
		return true
	}
	inode := a.Inode()
	return inode == 0 || inode == r.file.inode
}
