package fallback

import "time"

// acquire takes the lock, or says who keeps us out when there is no more time; if it does neither, the context was
// cancelled. tell is called once, with who keeps us out, if that lasts for a second.
func (a *attempt) acquire(tell func([]record)) (isHeld bool, keepers []record, err error) {
	w := waitState{tell: tell}
	for !a.isCancelled() {
		if a.isLate() || a.ctx.Err() != nil { // the deadline, whatever the clock says: it may have been set back
			a.request.Try = true
		}
		s, err := a.look()
		if err != nil {
			return false, nil, err
		}
		keepers := a.keepers(&s)
		if len(keepers) == 0 || len(w.dead) > 0 || a.shallSearch(&s, keepers, w.isForUs) {
			isHeld, keepers, err = a.enter(w.dead)
			if err != errNoSignal {
				w.noSignal = time.Time{}
			}
			switch {
			case err == errNoSignal && a.hopesForSignal(&w):
				a.Sleep(a.shortPause())
				continue
			case isHeld, err != nil:
				return isHeld, nil, err
			case len(keepers) == 0: // something has changed meanwhile
				continue
			}
		}
		// A conversion that is kept out loses the lock. s may be old by now, but tells the name that this lock has.
		if err := a.giveUp(&s); err != nil || a.isOver() {
			return false, keepers, err
		}
		if err := a.standBy(&w, &s, keepers); err != nil {
			return false, nil, err
		}
	}
	return false, nil, nil
}

// hopesForSignal reports whether an attempt goes on that has found no signal: for a second. Until all threads of a
// process have ended, a search can find its open file, and of several that are lost it does not tell whose that is.
func (a *attempt) hopesForSignal(w *waitState) bool {
	if w.noSignal.IsZero() {
		w.noSignal = a.Now()
	}
	return a.Now().Sub(w.noSignal) < stuck
}

// shallSearch reports whether something lost keeps us out, and it is for this attempt to search for it, which enter
// does. Who finds waiters before it leaves that to them: a search looks into every process. isForUs says that nothing
// has happened for a while: those before us may be stopped.
func (a *attempt) shallSearch(s *snapshot, keepers []record, isForUs bool) bool {
	isFirst := len(s.waiters) == 0 || s.waiters[0] == a.self.name
	return (a.request.Try || isForUs || isFirst) && a.searchMayHelp(keepers)
}

// standBy waits until it is worth to look again.
func (a *attempt) standBy(w *waitState, s *snapshot, keepers []record) error {
	if hasCome, err := a.come(); !hasCome {
		return err
	}
	if w.tell != nil && a.Now().Sub(a.began) >= time.Second {
		w.tell(keepers)
		w.tell = nil
	}
	return a.wait(w, s, keepers)
}
