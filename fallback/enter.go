package fallback

import (
	"cmp"
	"slices"
	"strings"
)

// Only who has the token adds a holder or removes a dead one; who leaves removes its own name without it. This file
// does what needs the token.

// enter takes the lock, unless somebody keeps us out.
func (a *attempt) enter() (outcome, error) { return a.withToken(nil, true) }

// tidy removes dead contenders, these among them, and writes down where searches have found open files. It says who
// keeps us out then, and else that the attempt has to look again.
func (a *attempt) tidy(dead []string) (outcome, error) { return a.withToken(dead, false) }

// withToken takes the token, removes dead contenders, makes us a holder if shallHold, and frees the token.
func (a *attempt) withToken(dead []string, shallHold bool) (outcome, error) {
	if hasCome, err := a.come(); !hasCome {
		return outcome{how: again}, err
	}
	token := busy + "," + a.self.id
	o, err := a.take(token)
	if err == nil && o.how != done {
		return o, nil
	}
	if err == nil {
		o, err = a.removeDeadAndHold(token, dead, shallHold)
	}
	if err != nil { // the token may be ours
		return outcome{}, cmp.Or(a.putBack(token), err)
	}
	if isFreed, err := a.freeToken(token); !isFreed {
		return outcome{how: again}, err
	}
	return o, nil
}

// removeDeadAndHold removes dead contenders, these among them, and makes us a holder if it shall and nobody keeps us
// out. It does nothing if the token is not ours any more, or our lifeline has lost its name.
func (a *attempt) removeDeadAndHold(token string, dead []string, shallHold bool) (outcome, error) {
	s, err := a.look()
	switch {
	case err != nil:
		return outcome{}, err
	case a.self.name == "", !slices.Contains(s.tokens, token):
		return outcome{how: again}, nil
	case len(s.tokens) > 1: // at once: nobody renames the token while it is ours
		return outcome{}, s.errToken()
	}
	if err := a.removeDead(&s, dead); err != nil {
		return outcome{}, err
	}
	keepers := a.keepers(&s)
	switch {
	case len(keepers) > 0 && !a.shallSearch(&s, false): // nothing that we search for is lost
		return outcome{how: keptOut, keepers: keepers}, nil
	case len(keepers) > 0: // an open file was lost since we have searched
		return outcome{how: again}, nil // the next look searches, without the token
	case !shallHold:
		return outcome{how: again}, nil
	}
	if isHeld, err := a.hold(&s); !isHeld {
		return outcome{how: again}, err
	}
	return outcome{how: done}, nil
}

// enoughWaiters is how many living waiters it takes to look no further for dead ones: there may be hundreds.
const enoughWaiters = 4

// removeDead removes what the dead have left, and writes down where a search has found an open file. It needs the
// token. These dead may come from an older listing than the snapshot: who is dead stays so. Dead waiters go from the
// snapshot, too: one of the others may be rung.
func (a *attempt) removeDead(s *snapshot, dead []string) error {
	if err := a.checkLifeline(); err != nil {
		return err
	}
	dead = slices.Concat(dead, a.deadLifelines(s))
	for i, r := range s.holders {
		switch {
		case r.verdict == over:
			dead = append(dead, r.name)
		case r.moved != nil:
			s.holders[i].name = recordName(r.mode, r.id, r.permit, r.moved)
			if err := a.Rename(r.name, s.holders[i].name); ignoreAbsent(err) != nil {
				return err
			}
		}
	}
	for _, name := range dead {
		if err := a.Remove(name); ignoreAbsent(err) != nil {
			return err
		}
	}
	s.waiters = slices.DeleteFunc(s.waiters, func(name string) bool { return slices.Contains(dead, name) })
	return nil
}

// deadLifelines returns the names of dead ones that hold nothing.
func (a *attempt) deadLifelines(s *snapshot) (dead []string) {
	living := 0
	for _, name := range slices.Concat(s.unused, s.waiters) {
		switch {
		case name == a.self.name, living == enoughWaiters:
		case a.ask(name) == noReader:
			dead = append(dead, name)
		case strings.HasPrefix(name, waitName):
			living++
		}
	}
	return dead
}

// discard releases the lock and, if nobody else is there, removes the state directory.
func (a *attempt) discard() error {
	if a.holding != byLifeline || a.self.name == "" {
		return a.release()
	}
	token := busy + "," + a.self.id
	o, err := a.take(token)
	if err == nil {
		if o.how != done {
			return a.release()
		}
		if a.moveAwayIfAlone() {
			a.forget()
			return nil
		}
	}
	// The directory stays. The token in it is ours, or may be after an error, and must not stay so.
	if err := cmp.Or(a.putBack(token), err); err != nil {
		a.forget() // the name of our lifeline says that it is dead
		return err
	}
	return a.release()
}

// moveAwayIfAlone removes the state directory if nobody else has a name there. It needs the token, which nobody can
// steal in a directory that was moved. If it does not succeed, for whatever reason, the directory stays.
func (a *attempt) moveAwayIfAlone() bool {
	s, err := a.list()
	isAlone := err == nil && a.self.name != "" && len(s.lifelines) == 1 && len(s.holders) == 1
	return isAlone && a.MoveAway() == nil
}
