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
	idle, isWatched := false, false
	for {
		if err := ctx.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return cancelled, nil, nil
		}
		how, s, keepers, err := a.tryOnce(idle)
		switch {
		case err != nil:
			return again, nil, err
		case how == done:
			return done, nil, nil
		case how == again:
			continue
		}
		if err := a.giveUp(&s); err != nil { // s may be old by now: it only tells what we had
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
		if idle, dead, err = a.wait(ctx, &s, keepers, isWatched); err == nil && len(dead) > 0 {
			_, _, err = a.tidy(dead) // who keeps us out then, the next look shows
		}
		if err != nil {
			return again, nil, err
		}
	}
}

// tryOnce looks, searches if it is for us to do so, and enters if nobody keeps us out.
func (a *attempt) tryOnce(idle bool) (how progress, s snapshot, keepers []record, err error) {
	if s, err = a.look(); err != nil {
		return again, s, nil, err
	}
	searches := a.shallSearch(&s, idle)
	if searches {
		a.search(&s)
	}
	keepers = a.keepers(&s)
	switch {
	case len(keepers) == 0:
		how, keepers, err = a.enter()
	case s.hasMoved():
		how, keepers, err = a.tidy(nil)
	case searches && s.has(lost):
		// It was not searched for, because no listing has shown the token: whoever takes that sees why.
		how, keepers, err = a.tidy(nil)
	default:
		how = keptOut
	}
	return how, s, keepers, err
}
