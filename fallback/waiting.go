package fallback

import (
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// frontWaiters look about each second, those behind them every ten: whoever is stopped delays the next ones by
	// that.
	frontWaiters = 8
	// mostWatched is how many lifelines a waiter watches, each of which takes a descriptor. What becomes of the others is
	// found by the next look.
	mostWatched = 16
	// distantPause is how often one looks at what nothing tells about.
	distantPause = time.Second
	// An open file that is closed tells nobody, and only on Linux does a lifeline: whoever watches such a one looks after
	// a twentieth of the time that it has waited, but not less and not more often than this.
	shortestPause, longestPause = time.Millisecond, 250 * time.Millisecond
)

// A waitState is what an attempt that waits knows from one round to the next.
type waitState struct {
	tell     func([]record) // once, when it has waited for a second; nil: not
	noSignal time.Time      // since when there is no signal for our mark; zero: there is one
	isForUs  bool           // whether it is for us to search, because nothing has happened for a while
	dead     []string       // waiters before us that have to be removed
}

// wait waits for the lifeline of the waiter before us or, where none is known to live, for what keeps us out. If there
// are dead waiters before us it does not wait.
func (a *attempt) wait(w *waitState, s *snapshot, keepers []record) error {
	w.isForUs = false
	place, _ := slices.BinarySearch(s.waiters, a.self.name) // where we are, or would be if s is older than our name
	ahead, is, dead := a.ahead(s.waiters[:place])
	w.dead = dead
	var watched []string
	var pause time.Duration
	switch {
	case len(dead) > 0: // to be removed first: who holds the lock may do so for weeks
		return nil
	case is == hasReader:
		watched, pause = s.waiters[ahead:ahead+1], time.Second
		if ahead+1 >= frontWaiters { // we come after that one
			pause *= 10
		}
		pause += rand.N(pause / 2)
	default: // we are the first, as far as we can tell: the one before us may be gone for good, on another machine
		watched, pause = a.watchKeepers(keepers)
	}
	if !tellsEnd && place < frontWaiters {
		watched, pause = nil, min(pause, a.shortPause())
	}
	timedOut, err := a.Wait(a.ctx, a.self.lifeline, watched, pause)
	// The first eight search each time, and those behind them the less often the further back they are: the hundredth
	// in 8 of 100 cases. Hundreds of searches at once would hinder the first ones.
	w.isForUs = err == nil && timedOut && draw(place+1) < frontWaiters
	return err
}

// ahead returns the index of the nearest waiter before us that lives or may live, -1 if there is none, and whether it
// lives. And it returns the dead ones between.
func (a *attempt) ahead(before []string) (i int, is answer, dead []string) {
	for i, name := range slices.Backward(before) {
		switch is := a.ask(name); is {
		case noReader:
			dead = append(dead, name)
		case noName: // it has left since the listing
		default:
			return i, is, dead
		}
	}
	return -1, noName, dead
}

// watchKeepers returns which of those who keep us out to watch, others each time if there are many, and for how long.
func (a *attempt) watchKeepers(keepers []record) (watched []string, pause time.Duration) {
	pause = time.Second + rand.N(time.Second/2)
	for _, r := range keepers {
		switch {
		case r.mode == Busy:
			pause = longestRetry
		case a.Machine().relation(r.owner.machine) != askable:
			pause = min(pause, distantPause)
		case r.file != nil:
			pause = min(pause, a.shortPause())
		case a.request.Mode == Permit || watched == nil: // for a permit any of them, else all of them have to go
			watched = append(watched, r.name)
		}
	}
	rand.Shuffle(len(watched), func(i, j int) { watched[i], watched[j] = watched[j], watched[i] })
	return watched[:min(len(watched), mostWatched)], pause
}

// shortPause returns how long to wait for what nothing tells.
func (a *attempt) shortPause() time.Duration {
	return max(shortestPause, min(a.Now().Sub(a.began)/20, longestPause))
}
