//go:build unix

package lease

import (
	"slices"
	"time"
)

// A Mode is how a contender wants a lock, or what its place in the line is for.
type Mode string

const (
	Exclusive Mode = "exclusive"
	Shared    Mode = "shared"
	Permit    Mode = "permit"
	Cooldown  Mode = "cooldown" // the place of one that respects the cooldown; it stays until its cooldown is over
)

// A Contender has a place in the line of a lock, which it has or waits for.
type Contender struct {
	Lock    string // the name of the lock
	Mode    Mode
	Permits int       // for Permit: how many may hold one at once
	ID      string    // the same for both places of one that respects the cooldown
	Key     string    // for Break
	Since   time.Time // when it came or, if it holds the lock, got that
	Until   time.Time // for Cooldown: when the cooldown ends; zero: it has not begun, since its contender still waits
	Host    string
	PID     int
	User    string

	waits bool
}

// A Line is the places of the contenders for a lock, in the order in which they were taken.
type Line []Contender

// KeepOut returns those of a line who keep out a contender behind them. It is entitled when there are none. A permit is
// kept out until fewer of them than its own Permits are left; the others are kept out until all of them are gone.
//
// Nobody overtakes:
//
//	an exclusive contender has the lock when nobody is before it,
//	a shared one when no exclusive one is before it,
//	one of N permits when no exclusive one, and fewer than N for permits, are before it.
//
// Who respects the cooldown first takes a place of the mode Cooldown. When no other such place is before that, it takes
// a second one, at the end of the line, for the lock. Its first place stays as long as its cooldown lasts.
func (l Line) KeepOut(c Contender) (out Line) {
	permits := Line{}
	for _, before := range l {
		if excludes(before.Mode, c.Mode) {
			out = append(out, before)
		} else if before.Mode == Permit && c.Mode == Permit {
			permits = append(permits, before)
		}
	}
	if len(out) == 0 && c.Mode == Permit && len(permits) >= c.Permits {
		return permits
	}
	return out
}

// excludes reports whether a place keeps out a later one, whoever else is there.
func excludes(earlier, later Mode) bool {
	if earlier == Cooldown || later == Cooldown {
		return earlier == later
	}
	return earlier == Exclusive || later == Exclusive
}

// Waits reports whether a newcomer behind a line would have to wait.
func (r Request) Waits(l Line) bool {
	return len(l.KeepOut(Contender{Mode: r.Mode, Permits: r.Permits})) > 0 ||
		r.Cooldown > 0 && len(l.KeepOut(Contender{Mode: Cooldown})) > 0
}

// Refused reports whether a newcomer would have to wait and may not: it does not want to, or its queue is full.
func (r Request) Refused(l Line) bool {
	return r.Waits(l) && (r.Nonblock || r.Queued && l.waiting() >= r.Queue)
}

// waiting returns how many wait.
func (l Line) waiting() (n int) {
	for _, c := range l.contenders() {
		if c.waits {
			n++
		}
	}
	return n
}

// contenders returns each contender of the line of one lock once, notes who waits, and returns cooldowns that have
// begun.
func (l Line) contenders() (list []Contender) {
	hasSecond := map[string]bool{} // place, by ID
	for _, c := range l {
		if c.Mode != Cooldown {
			hasSecond[c.ID] = true
		}
	}
	for i, c := range l {
		switch {
		case c.Mode != Cooldown:
			c.waits = len(l[:i].KeepOut(c)) > 0
		case hasSecond[c.ID]:
			continue
		case c.Until.IsZero():
			c.Mode, c.waits = Exclusive, true
		}
		list = append(list, c)
	}
	return list
}

// byLock returns the contenders for all locks, by the names of these.
func (l Line) byLock() (list []Contender) {
	lines := map[string]Line{}
	for _, c := range l {
		lines[c.Lock] = append(lines[c.Lock], c)
	}
	names := make([]string, 0, len(lines))
	for name := range lines {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		list = append(list, lines[name].contenders()...)
	}
	return list
}
