package fallback

import (
	"cmp"
	"slices"
	"strings"
)

// Only who has the token adds a holder or removes a dead one; who leaves removes its own name without it. This file
// does what needs the token.

// enter takes the lock, unless somebody keeps us out. It removes dead contenders, these among them. If it says neither
// that we hold the lock nor who keeps us out, something has changed meanwhile: the attempt has to look again.
func (a *attempt) enter(dead []string) (isHeld bool, keepers []record, err error) {
	if hasCome, err := a.come(); !hasCome {
		return false, nil, err
	}
	token := busy + "," + a.self.id
	isTaken, keepers, err := a.take(token)
	if err == nil && !isTaken {
		return false, keepers, nil
	}
	if err == nil {
		isHeld, keepers, err = a.removeDeadAndHold(token, dead)
	}
	if err == nil {
		if err = a.renameToken(token, free); err == nil { // this makes what we have done count
			return isHeld, keepers, nil
		}
		withdrawn := a.withdraw()
		if isAbsent(err) { // somebody has taken us for dead, and has the token
			return false, nil, withdrawn
		}
	}
	return false, nil, cmp.Or(a.putBack(token), err) // it may be ours
}

// removeDeadAndHold is enter with the token. It does nothing if the token is not ours any more, or our lifeline has
// lost its name.
func (a *attempt) removeDeadAndHold(token string, dead []string) (isHeld bool, keepers []record, err error) {
	s, err := a.look()
	switch {
	case err != nil:
		return false, nil, err
	case a.self.name == "", !slices.Contains(s.tokens, token):
		return false, nil, nil
	case len(s.tokens) > 1: // at once: nobody renames the token while it is ours
		return false, nil, s.errToken()
	}
	if a.needsSearch(&s) {
		a.search(&s)
	}
	if err := a.removeDead(&s, dead); err != nil {
		return false, nil, err
	}
	if keepers = a.keepers(&s); len(keepers) == 0 {
		isHeld, err = a.hold(&s)
	}
	return isHeld, keepers, err
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
		switch name := recordName(r.mode, r.id, r.permit, r.file); {
		case r.verdict == over:
			dead = append(dead, r.name)
		case name != r.name:
			s.holders[i].name = name
			if err := a.Rename(r.name, name); ignoreAbsent(err) != nil {
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
	if a.isFile || a.self.name == "" {
		return a.release()
	}
	token := busy + "," + a.self.id
	isTaken, _, err := a.take(token)
	switch {
	case err == nil && !isTaken:
		return a.release()
	case err == nil && a.moveAwayIfAlone():
		a.forget()
		return nil
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
