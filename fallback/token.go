package fallback

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

const (
	// stuck is how long the token must stay the same to be a conflict or a fault, and stuckLooks how often that must
	// be seen: on a busy machine a process may look only twice in a second, and both times miss a name that is just
	// renamed.
	stuck      = time.Second
	stuckLooks = 10
	// Between two attempts to take the token the pause doubles. To look more often costs a busy machine more than it
	// gains: where 64 readers loop, a first pause of 50 µs took 17 % more processor time, and a longest one of 2 ms
	// halved the throughput.
	shortestRetry, longestRetry = 250 * time.Microsecond, 50 * time.Millisecond
)

// renameToken renames the token. After an error it may have been renamed, or may still be: a server can carry it out
// later. Then whoever finds the token ours must see that we are dead.
func (a *attempt) renameToken(old, new string) error {
	err := a.Rename(old, new)
	if !isAbsent(err) { // of a name that is not there nothing new is known
		a.isTokenInDoubt = err != nil
	}
	return err
}

// take renames the token to the name that it has while it is ours. If somebody else keeps it for long, that one keeps
// us out. The token is ours after done, and may be after an error.
//
//	what the listing shows      the token is   at first               after the deadline   for long
//	busy,X                      kept           pause                  kept out             kept out
//	busy,X, no lifeline of X    orphaned       pause                  kept out             an error
//	free, but not to be had     withheld       pause, open the path   kept out             kept out
//	none, or several            unclear        pause, open the path   the same             an error
//
// Also who tries only once waits for long, to be certain. Who loses each race, because the token changes hands all the
// time, waits until it is cancelled.
func (a *attempt) take(token string) (outcome, error) {
	var sight sighting
	for pause := shortestRetry; ; pause = min(2*pause, longestRetry) {
		isTaken, s, err := a.takeFreeOrSteal(token)
		switch {
		case err != nil:
			return outcome{}, err
		case isTaken:
			return outcome{how: done}, nil
		case a.self.name == "": // a cleaner of old files has removed it, or the directory is another one
			return outcome{how: again}, nil
		}

		state, isLong := s.tokenState(), sight.isLong(&s, a.Now())
		switch {
		case isLong && (state == orphaned || state == unclear):
			return outcome{}, s.errToken()
		case isLong, a.isLate() && state != unclear:
			return outcome{how: keptOut, keepers: []record{a.tokenOwner(&s)}}, nil
		case a.isCancelled():
			return outcome{how: again}, nil // acquire ends then
		}
		if state == withheld || state == unclear || pause == longestRetry { // it may be another directory by now
			if err := a.reopen(); err != nil {
				return outcome{}, err
			}
			if a.self.name == "" { // it is
				return outcome{how: again}, nil
			}
		}
		a.Sleep(pause)
	}
}

// A tokenState is what a listing shows of a token that was not to be had: see take.
type tokenState uint8

const (
	kept     tokenState = iota // somebody has it
	orphaned                   // its owner has lost its lifeline, so that nobody can ever take it over
	withheld                   // the listing shows it free: it changes hands all the time, or NFS hides who has it
	unclear                    // it is just renamed, or the directory is another one, or broken
)

func (s *snapshot) tokenState() tokenState {
	switch token := s.token(); {
	case token == "":
		return unclear
	case token == free:
		return withheld
	case s.lifelineOf(idOf(token)) == "":
		return orphaned
	}
	return kept
}

// takeFreeOrSteal takes the token if nobody has it, or who has it is dead, and else returns a listing.
func (a *attempt) takeFreeOrSteal(token string) (isTaken bool, s snapshot, err error) {
	isTaken, s, err = a.takeFree(token)
	if err == nil && !isTaken {
		isTaken, err = a.steal(&s, token)
	}
	return isTaken, s, err
}

// takeFree takes the token if nobody has it, and else returns a listing. That can show it free, though it is not: it
// changes hands all the time, or the client of a network filesystem does not learn who has it.
func (a *attempt) takeFree(token string) (isTaken bool, s snapshot, err error) {
	for range 2 { // the second try is for a token that was freed between the first one and the listing
		err = a.renameToken(free, token)
		if err == nil || !isAbsent(err) {
			return err == nil, s, err
		}
		s, err = a.list()
		switch {
		case err != nil:
			return false, s, err
		case slices.Contains(s.tokens, token): // NFS has carried out the rename
			return true, s, nil
		case a.self.name == "", s.token() != free:
			return false, s, nil
		}
	}
	return false, s, nil
}

// tokenOwner returns who has the token that a listing shows. If that is free, but not to be had, it is somebody who
// cannot be named.
func (a *attempt) tokenOwner(s *snapshot) record {
	if s.token() == free {
		return record{name: free, mode: Busy, owner: owner{machine: a.Machine()}, verdict: held}
	}
	owner, _ := parseRecord(s.token())
	owner.verdict = a.judgeLifeline(s.lifelineOf(owner.id))
	return owner
}

// reopen opens what the path leads to now. If our lifeline is not there it forgets that: the token of somebody without
// a lifeline could never be taken over.
func (a *attempt) reopen() error {
	if err := a.Reopen(); err != nil {
		return err
	}
	if a.Ask(a.self.name) == noName {
		a.forget()
	}
	return nil
}

// A sighting is the token as somebody sees it who looks again and again.
type sighting struct {
	what  string
	since time.Time
	looks int
}

// isLong notes what is seen now, and reports whether that has been the same for long. The lifeline of the owner belongs
// to it: an owner whose lifeline gets another name is at work.
func (g *sighting) isLong(s *snapshot, now time.Time) bool {
	what := strings.Join(s.tokens, " ") + " " + s.lifelineOf(idOf(s.token()))
	if what != g.what || g.looks == 0 {
		*g = sighting{what: what, since: now}
	}
	g.looks++
	return g.looks >= stuckLooks && now.Sub(g.since) >= stuck
}

// errToken says what is wrong with the token, if it is seen so for long: it is not there, there are several, or its
// owner has lost its lifeline, so that nobody can ever take it over.
func (s *snapshot) errToken() error {
	token := s.token()
	switch {
	case len(s.tokens) == 0:
		return errNoToken
	case len(s.tokens) > 1:
		return stateError("it has more than one token: " + strings.Join(s.tokens, " and ") + removeIt)
	case token != free && s.lifelineOf(idOf(token)) == "":
		return stateError("the owner of its token " + token + " is gone" + removeIt)
	}
	return nil
}

// steal takes over the token of somebody who has died with it. Its name goes to exactly one thief.
func (a *attempt) steal(s *snapshot, token string) (isTaken bool, err error) {
	lifeline := s.lifelineOf(idOf(s.token()))
	if lifeline == "" || a.ask(lifeline) != noReader {
		return false, nil
	}
	if err := a.checkLifeline(); err != nil { // nobody's death can be believed, and nobody would ever get the token
		return false, err
	}
	// Who died while it removed the directory has left another one at the path, or none. Its token is not there.
	if err := a.reopen(); err != nil || a.self.name == "" {
		return false, err
	}
	err = a.renameToken(s.token(), token)
	return err == nil, ignoreAbsent(err)
}

// checkLifeline asks about our own lifeline as others do, after a listing: SMB shows only then that it has made a plain
// file. If ours does not answer, no lifeline does here, and nobody's death can be believed.
func (a *attempt) checkLifeline() error {
	if is := a.Ask(a.self.name); is == noReader || is == noLifeline {
		return errDeaf
	}
	return nil
}

// What each of these does when something has failed or is over:
//
//	                   the token    our name                            our lifeline   our mark
//	putBack            is freed     stays                               stays          stays
//	giveUp, withdraw   stays        a waiter's; of an open file: none   stays          is taken away
//	forget             stays        stays, for others to remove         is closed      stays
//	leave              stays        is removed                          is closed      stays
//	release            stays        is removed if nobody else has it    is closed      is taken away

// freeToken frees the token. That makes what we have done with it count: if it fails, we take that back.
func (a *attempt) freeToken(token string) (isFreed bool, err error) {
	err = a.renameToken(token, free)
	switch {
	case err == nil:
		return true, nil
	case isAbsent(err): // somebody has taken us for dead, and has the token
		return false, a.withdraw()
	}
	a.withdraw() // while the token is ours, in case that can be done: what is returned is why the token was not freed
	return false, cmp.Or(a.putBack(token), err)
}

// putBack tries once to free a token that may be ours. After an error it may still be.
func (a *attempt) putBack(token string) error { return ignoreAbsent(a.renameToken(token, free)) }

// withdraw takes back what we have just made.
func (a *attempt) withdraw() error {
	s, err := a.list()
	if err != nil {
		return err
	}
	return a.giveUp(&s)
}
