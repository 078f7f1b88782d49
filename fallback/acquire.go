package fallback

import (
	"slices"
	"time"
)

// acquire takes the lock, or says who keeps us out when there is no more time. tell is called once, with who keeps us
// out, if that lasts for a second.
func (a *attempt) acquire(tell func([]record)) (outcome, error) {
	w := waitState{tell: tell}
	for {
		switch {
		case a.isCancelled():
			return outcome{how: cancelled}, nil
		case a.ctx.Err() != nil: // the deadline, whatever the clock says: it may have been set back
			a.request.Try = true
		}
		s, owesSearch, err := a.lookAndSearch(w.isForUs)
		if err != nil {
			return outcome{}, err
		}
		o, err := a.tryOnce(&s, owesSearch)
		switch {
		case err != nil || o.how == done:
			return o, err
		case o.how == again:
			continue
		}
		// A conversion that is kept out loses the lock. s may be old by now, but tells the name that this lock has.
		if err := a.giveUp(&s); err != nil || a.isOver() {
			return o, err
		}
		if err := a.standBy(&w, &s, o.keepers); err != nil {
			return outcome{}, err
		}
	}
}

// lookAndSearch looks, and searches if it is for us to do so. It owes a search that could not be made because no
// listing has shown the token.
func (a *attempt) lookAndSearch(isForUs bool) (s snapshot, owesSearch bool, err error) {
	s, err = a.look()
	if err == nil && a.shallSearch(&s, isForUs) {
		owesSearch = !a.search(&s)
	}
	return s, owesSearch, err
}

// tryOnce enters if nobody keeps us out.
func (a *attempt) tryOnce(s *snapshot, owesSearch bool) (outcome, error) {
	keepers := a.keepers(s)
	isKeptOut := len(keepers) > 0
	switch {
	case !isKeptOut && !a.lacksSignal(s):
		return a.enter()
	case s.hasMoved(), owesSearch:
		// Whoever has the token writes down where a search has found an open file. A token that no listing shows is
		// waited for, or found to be gone.
		return a.tidy(nil)
	case isKeptOut:
		return outcome{how: keptOut, keepers: keepers}, nil
	}
	return outcome{}, errNoSignal
}

// standBy waits until it is worth to look again.
func (a *attempt) standBy(w *waitState, s *snapshot, keepers []record) error {
	if !w.isWatched && slices.ContainsFunc(keepers, func(r record) bool { return r.file != nil }) {
		if w.isWatched = a.WatchFile(); w.isWatched {
			return nil // what was closed before the watch is not told
		}
	}
	if hasCome, err := a.come(); !hasCome {
		return err
	}
	if w.tell != nil && a.Now().Sub(a.began) >= time.Second {
		w.tell(keepers)
		w.tell = nil
	}
	dead, err := a.wait(w, s, keepers)
	if err == nil && len(dead) > 0 {
		_, err = a.tidy(dead) // who keeps us out then, the next look shows
	}
	return err
}
