package fallback

import (
	"slices"

	"example.org/flock/fallback/openfile"
)

// look lists the state directory, and judges each holder.
func (a *attempt) look() (snapshot, error) {
	s, err := a.list()
	for i, r := range s.holders {
		switch is := &s.holders[i].verdict; {
		case a.isOurs(r):
			*is = ours
		case r.file != nil:
			*is = a.judgeFile(r)
		default:
			*is = a.judgeLifeline(r.name)
		}
	}
	return s, err
}

// judgeLifeline judges a holder that has a lifeline.
func (a *attempt) judgeLifeline(name string) verdict {
	switch a.ask(name) {
	case hasReader:
		return held
	case noReader:
		return over
	case noName:
		// It was renamed or removed since the listing. If we have the token, it was released: to convert it needs the
		// token. If we do not have it, we shall look again with it before we hold the lock.
		return over
	}
	return doubtful
}

// ask asks whether anybody has a lifeline, if that can be asked from here.
func (a *attempt) ask(name string) answer {
	o, ok := parseOwner(idOf(name))
	if !ok { // it is no lifeline of a flock
		return noName
	}
	switch a.Machine().relation(o.machine) {
	case askable:
		return a.Ask(name)
	case pastBoot:
		return noReader
	}
	return unknown
}

// judgeFile judges a holder that is an open file, and not ours.
func (a *attempt) judgeFile(r record) verdict {
	m := a.Machine()
	switch m.relation(r.owner.machine) {
	case pastBoot:
		return over
	case otherMount, otherMachine:
		return doubtful
	}
	if !m.pidNS.is(r.owner.pidNS) {
		// Its process id means another process here, if any.
		if a.SeesAll() {
			return lost
		}
		return doubtful
	}
	switch a.At(r.file, m.pidNS.sharesClock(r.owner.pidNS)) {
	case openfile.There:
		return seen
	case openfile.NotThere:
		return lost
	}
	return doubtful
}

func (s *snapshot) has(v verdict) bool {
	return slices.ContainsFunc(s.holders, func(r record) bool { return r.verdict == v })
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
	if r.file == nil || a.Machine().relation(r.owner.machine) != askable {
		return true
	}
	inode := a.ID().Inode
	return inode == 0 || inode == r.file.Inode
}
