//go:build unix

package lease

import (
	"maps"
	"os"
	"os/user"
	"slices"
	"strconv"
	"time"
)

// A Mode says how a contender wants a lock, or what its place in the line is for.
type Mode string

const (
	Exclusive Mode = "exclusive"
	Shared    Mode = "shared"
	Permit    Mode = "permit"
	Cooldown  Mode = "cooldown" // the place for the cooldown of a contender; it stays until the cooldown is over

	// Unknown is a place for a time in which the server cannot tell who is in line. Nobody gets the lock behind it, nor
	// passes a cooldown. But it is no holder: nobody is refused because of it, and no list has it.
	Unknown Mode = "unknown"
)

// A Contender has a place in the line of a lock, which it has or waits for. In JSON it is as a backend writes it down.
type Contender struct {
	Lock    string `json:"-"` // the name of the lock
	Mode    Mode   `json:"mode,omitempty"`
	Permits int    `json:"permits,omitempty"` // for Permit: how many may hold one at once
	ID      string `json:"id,omitempty"`      // the same for both places of a contender with a cooldown
	Key     string `json:"key,omitempty"`     // for Break
	Since   int64  `json:"since"`             // Unix time at which it came or, if it holds the lock, got it
	Until   int64  `json:"until,omitempty"`   // for Cooldown: when that ends; 0: its contender still waits
	Cure    string `json:"-"`                 // for Cooldown: the command by which a user ends it
	Why     string `json:"-"`                 // for Unknown: why that is so, for how long
	Holds   bool   `json:"holds,omitempty"`   // it has the lock, even if Unknown is before it
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	User    string `json:"user"`

	waits bool
}

// Self returns what there is to say about this process, which comes now.
func Self() Contender {
	c := Contender{PID: os.Getpid(), User: strconv.Itoa(os.Getuid()), Since: time.Now().Unix()}
	c.Host, _ = os.Hostname()
	if u, err := user.Current(); err == nil {
		c.User = u.Username
	}
	return c
}

// A Line is the places of the contenders for a lock, in the order in which they were taken.
type Line []Contender

// KeepOut returns the places of a line that keep out a contender behind them. If there are none, the lock is its. They
// keep out a permit until fewer of them than its own Permits are left, and other modes until all of them are gone.
//
// Nobody overtakes:
//
//	an exclusive contender has the lock when nobody is before it,
//	a shared one when no exclusive one is before it,
//	one of N permits when no exclusive one, and fewer than N for permits, are before it.
//
// A contender with a cooldown first takes a place of the mode Cooldown. When nothing before keeps that out, it takes a
// second one, at the end of the line, for the lock. Its first place stays as long as its cooldown lasts.
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
		return earlier == later || earlier == Unknown
	}
	return earlier == Exclusive || earlier == Unknown || later == Exclusive
}

// Known returns a line without its Unknown places.
func (l Line) Known() Line {
	return slices.DeleteFunc(slices.Clone(l), func(c Contender) bool { return c.Mode == Unknown })
}

// unknown says why it is not known who else is in a line; empty: it is.
func (l Line) unknown() (why string) {
	for _, c := range l {
		if c.Mode == Unknown {
			why = c.Why
		}
	}
	return why
}

// Waits reports whether a newcomer behind a line would have to wait.
func (c Claim) Waits(l Line) bool {
	return len(l.KeepOut(Contender{Mode: c.Mode, Permits: c.Permits})) > 0 ||
		c.Cooldown > 0 && len(l.KeepOut(Contender{Mode: Cooldown})) > 0
}

// Refused reports whether a newcomer would have to wait for others and may not: it does not want to, or its queue is
// full. A newcomer that must wait only because of an Unknown place takes its place in line: otherwise nobody might ever
// get a lock that has no waiters.
func (c Claim) Refused(l Line) bool {
	return c.Waits(l.Known()) && (c.Nonblock || c.Queued && l.waiting() >= c.Queue)
}

// NeverWaits reports whether this one never waits for others.
func (c Claim) NeverWaits() bool { return c.Nonblock || c.Queued && c.Queue == 0 }

// waiting returns how many wait.
func (l Line) waiting() (n int) {
	for _, c := range l.contenders() {
		if c.waits {
			n++
		}
	}
	return n
}

// contenders returns who has the lock and who waits, each once, of the line of one lock, and a cooldown that has begun.
func (l Line) contenders() (list []Contender) {
	hasPlaceForLock := map[string]bool{} // by ID
	for _, c := range l {
		if c.Mode != Cooldown {
			hasPlaceForLock[c.ID] = true
		}
	}
	for i, c := range l {
		switch isForCooldown := c.Mode == Cooldown; {
		case c.Mode == Unknown, isForCooldown && hasPlaceForLock[c.ID]:
			continue // it is nobody, or listed by its other place
		case isForCooldown && c.Until == 0: // it waits for the end of a cooldown
			c.Mode, c.waits = Exclusive, true
		case !isForCooldown:
			c.waits = !c.Holds && len(l[:i].KeepOut(c)) > 0
		}
		list = append(list, c)
	}
	return list
}

// byLock returns the contenders for all locks, by the names of these, and why it is not known who else there may be;
// empty: that is known.
func (l Line) byLock() (list []Contender, unknown string) {
	lines, first := map[string]Line{}, Line{} // in the line of each lock
	for _, c := range l {
		if c.Mode == Unknown {
			first = Line{c}
		} else {
			lines[c.Lock] = append(lines[c.Lock], c)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		list = append(list, append(slices.Clone(first), lines[name]...).contenders()...)
	}
	return list, first.unknown()
}
