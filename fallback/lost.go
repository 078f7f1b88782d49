package fallback

import (
	"math"
	"slices"
	"strings"
	"time"

	"example.org/flock/fallback/openfile"
)

// This file is about open files that are lost: not where their records say. It searches for them, and says what a search
// proves.

// needsSearch reports whether this attempt, which has the token, needs to know more about something lost: it may keep us
// out, or have the permit that is the lowest free one; our mark would hide it, or there is no signal for our mark.
// Others wait for the token meanwhile.
func (a *attempt) needsSearch(s *snapshot) bool {
	switch {
	case !s.has(lost):
		return false
	case a.searchMayHelp(a.keepers(s)):
		return true
	case s.has(ours):
		return false
	case a.request.Mode == Permit:
		return true
	}
	return a.isFile && (len(s.freeSignals()) == 0 || a.wouldHide(s))
}

// searchMayHelp reports whether one of those who keep us out is lost, unless a search has just been in vain: it would
// have the token for most of the time, and whoever is stopped with it keeps everybody out.
func (a *attempt) searchMayHelp(keepers []record) bool {
	isLost := func(r record) bool { return r.verdict == lost }
	isDue := a.request.Try || a.Now().Sub(a.searchedInVain) >= pauseAfterSearch
	return isDue && slices.ContainsFunc(keepers, isLost)
}

// pauseAfterSearch is how long an attempt that waits does not search again after a search in vain.
const pauseAfterSearch = time.Second

// wouldHide reports whether the record of something lost names the same descriptor of the same process as ours would.
// Then the search has to be made before ours has its mark. Say that a shell locks in a loop:
//
//	{ flock -s 9; } 9<f   its record is shared,A@9, and is lost when the block ends
//	{ flock -s 9; } 9<f   another open file: once it has its mark, whoever looks at 9 takes it for that of A
func (a *attempt) wouldHide(s *snapshot) bool {
	at, err := a.Locate()
	return err == nil && slices.ContainsFunc(s.holders, func(r record) bool { // holdByFile reports the error
		return r.verdict == lost && r.file.PID == at.PID && r.file.Number == at.Number
	})
}

// search looks for the open files that are lost, and judges them anew. It needs the token: who has that makes a record,
// and then marks the file. So all files have their marks that ever will.
func (a *attempt) search(s *snapshot) {
	q := openfile.Query{Since: math.MaxUint64, ShallStop: func() bool { return a.isLate() || a.isCancelled() },
		Working: a.showWork()}
	var wanted []*record
	for i := range s.holders {
		switch r := &s.holders[i]; {
		case r.verdict == seen:
			q.Accounted = append(q.Accounted, r.file)
		case r.verdict == lost && s.sharesProcess(*r):
			r.verdict = held
		case r.verdict == lost:
			wanted = append(wanted, r)
			q.Wanted = append(q.Wanted, r.file)
			q.Since = min(q.Since, a.lockerStart(*r))
			q.TellRefused = q.TellRefused || a.isAnothers(*r)
		}
	}
	if len(wanted) == 0 {
		return
	}
	v := a.Search(q)
	for _, r := range wanted {
		r.verdict = a.conclude(v, *r)
	}
	// Of several, nothing tells whose the one is that was found. Of another pid namespace a record could not say where.
	if r := wanted[0]; len(wanted) == 1 && v.Found && v.Certain && a.Machine().pidNS.is(r.owner.pidNS) {
		found := *r.file
		found.Location = v.At
		r.file, r.verdict = &found, seen
	}
	if slices.ContainsFunc(wanted, func(r *record) bool { return r.verdict != over && r.verdict != seen }) {
		a.searchedInVain = a.Now()
	}
}

// showWork returns a function that a search calls all the time. It renames our lifeline every half second, from
// wait,ID@MODE to wait,ID@MODE@MODE and back: so those who wait for the token see that we are not stopped.
func (a *attempt) showWork() func() {
	shown := a.Now()
	return func() {
		if a.Now().Sub(shown) < stuck/2 || !strings.HasPrefix(a.self.name, waitName) {
			return
		}
		shown = a.Now()
		name := waiterName(a.self.id, a.request.Mode)
		if a.self.name == name {
			name += "@" + modeWords[a.request.Mode]
		}
		if a.Rename(a.self.name, name) == nil {
			a.self.name = name
		}
	}
}

// sharesProcess reports whether there is another record of the same process, whose open file is there or may be. Then
// a search could miss what is lost. Say that a shell has locked two files:
//
//	                                at 9        at 10       its records
//	flock -s 9; flock -s 10         the first   the second  shared,A@9  shared,B@10
//	exec 9<&-; exec 9<&10 10<&-     the second  nothing     what is at 9 answers for A, and B is lost
//
// A search for B would pass over what is at 9, because that was seen, and find nothing. A record that is ours does not
// count: its signal says that its open file is the one of its record.
func (s *snapshot) sharesProcess(r record) bool {
	return slices.ContainsFunc(s.holders, func(o record) bool {
		isThere := o.verdict == seen || o.verdict == held || o.verdict == doubtful
		return isThere && o.file != nil && o.file.PID == r.file.PID
	})
}

// lockerStart returns when the process was started that has locked, 0 if that is unknown here.
func (a *attempt) lockerStart(r record) uint64 {
	if !a.Machine().pidNS.sharesClock(r.owner.pidNS) {
		return 0
	}
	return r.file.LockerStart
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
