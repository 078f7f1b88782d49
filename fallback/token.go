package fallback

import (
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
// us out; if nobody does, the attempt has to look again. The token may be ours after an error.
//
//	what the listing shows      at first               for long
//	busy,X                      pause                  kept out
//	busy,X, no lifeline of X    pause                  an error: nobody can ever take it over
//	free, but not to be had     pause, open the path   kept out: NFS hides who has it
//	none, or several            pause, open the path   an error: it is broken
//
// Also who tries only once waits for long, and who is late: a token that others have says nothing about the lock. Who
// loses each race, because the token changes hands all the time, waits until it is cancelled.
func (a *attempt) take(token string) (isTaken bool, keepers []record, err error) {
	var sight sighting
	for pause := shortestRetry; ; pause = min(2*pause, longestRetry) {
		isTaken, s, err := a.takeOnce(token)
		if isTaken || err != nil || a.self.name == "" { // a cleaner has removed it, or the directory is another one
			return isTaken, nil, err
		}
		shown, isLong := s.token(), sight.isLong(&s, a.Now())
		switch broken := s.errToken(); {
		case isLong && broken != nil:
			return false, nil, broken
		case isLong:
			return false, []record{a.tokenOwner(&s)}, nil
		case a.isCancelled():
			return false, nil, nil
		}
		if shown == "" || shown == free || pause == longestRetry { // it may be another directory by now
			if err := a.reopen(); err != nil || a.self.name == "" { // it is
				return false, nil, err
			}
		}
		a.Sleep(pause)
	}
}

// takeOnce takes the token if nobody has it, or who has it is dead, and else returns a listing. That can show it free,
// though it is not: it changes hands all the time, or the client of a network filesystem does not learn who has it.
func (a *attempt) takeOnce(token string) (isTaken bool, s snapshot, err error) {
	for range 2 { // the second time is for a token that was freed between the first one and the listing
		if err = a.renameToken(free, token); !isAbsent(err) {
			return err == nil, s, err
		}
		s, err = a.list()
		switch {
		case err != nil:
			return false, s, err
		case slices.Contains(s.tokens, token): // NFS has carried out the rename
			return true, s, nil
		case a.self.name == "":
			return false, s, nil
		case s.token() != free:
			isTaken, err = a.steal(&s, token)
			return isTaken, s, err
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
	if err := a.Reopen(true); err != nil {
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
