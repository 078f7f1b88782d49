package fallback

import (
	"context"
	"errors"
	"slices"
	"time"
)

// acquire takes the lock, or returns who keeps us out when there is no more time. tell is called once, with who keeps
// us out, if that lasts for a second.
func (a *attempt) acquire(ctx context.Context, tell func([]record)) (progress, []record, error) {
	isIdle, isWatched := false, false
	for {
		if err := ctx.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return cancelled, nil, nil
		}
		s, isTokenMissing, err := a.lookAndSearch(isIdle)
		if err != nil {
			return again, nil, err
		}
		how, keepers, err := a.tryOnce(&s, isTokenMissing)
		switch {
		case err != nil:
			return again, nil, err
		case how == done:
			return done, nil, nil
		case how == again:
			continue
		}

		// Somebody keeps us out. s may be old by now: it only tells what we had.
		if err := a.giveUp(&s); err != nil {
			return again, nil, err
		}
		if a.isOver() {
			return keptOut, keepers, nil
		}
		if !isWatched && slices.ContainsFunc(keepers, func(r record) bool { return r.file != nil }) {
			if isWatched = a.WatchFile(); isWatched {
				continue // what was closed before the watch is not told
			}
		}
		if err := a.come(); err != nil {
			return again, nil, err
		}
		if tell != nil && a.Now().Sub(a.began) >= time.Second {
			tell(keepers)
			tell = nil
		}
		var dead []string
		if isIdle, dead, err = a.wait(ctx, &s, keepers, isWatched); err == nil && len(dead) > 0 {
			_, _, err = a.tidy(dead) // who keeps us out then, the next look shows
		}
		if err != nil {
			return again, nil, err
		}
	}
}

// lookAndSearch looks, and searches if it is for us to do so. It reports whether a search was due and could not be
// made, because no listing has shown the token.
func (a *attempt) lookAndSearch(isIdle bool) (s snapshot, isTokenMissing bool, err error) {
	if s, err = a.look(); err == nil && a.shallSearch(&s, isIdle) {
		isTokenMissing = !a.search(&s)
	}
	return s, isTokenMissing, err
}

// tryOnce enters if nobody keeps us out. s has been searched, unless that could not be done because the token was
// missing, or is left to somebody else.
func (a *attempt) tryOnce(s *snapshot, isTokenMissing bool) (progress, []record, error) {
	keepers := a.keepers(s)
	switch {
	case len(keepers) == 0 && !a.lacksSignal(s):
		return a.enter()
	case s.hasMoved(): // a search has found an open file, and whoever has the token writes down where
		return a.tidy(nil)
	case isTokenMissing: // take waits for it, or finds that it is gone
		return a.tidy(nil)
	case len(keepers) == 0:
		return again, nil, errNoSignal
	}
	return keptOut, keepers, nil
}
