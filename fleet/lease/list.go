//go:build unix

package lease

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/output"
	"example.org/flock/internal/sys"
)

func (c Contender) holds() bool { return c.Mode != Cooldown && !c.waits }

// who describes a holder for a message.
func (c Contender) who() string {
	return sys.Printable("process " + strconv.Itoa(c.PID) + " of " + c.User + " on " + c.Host)
}

// end says how a run has ended that is not known to have its lock. While it is unknown who has locks, one whose end is
// not written may have its own still.
func (l *LastRun) end(isUnknown bool) string {
	switch {
	case l.Ended == 0 && isUnknown:
		return ", end unknown"
	case l.Ended == 0:
		return ", lost"
	}
	until := " until " + clock(l.Ended)
	switch {
	case l.Signal != nil:
		return until + ", signal " + strconv.Itoa(*l.Signal)
	case l.Status != nil:
		return until + ", status " + strconv.Itoa(*l.Status)
	}
	return until + ", not started"
}

func (c Contender) until() string { return "until " + clock(c.Until) }

func clock(seconds int64) string { return time.Unix(seconds, 0).Format(output.Clock) }

// A census is who has the lock and who waits, or those of all locks.
type census struct {
	all, holders []Contender
	cooldown     Contender // that keeps others out while nobody has the lock; its Until is 0 if there is none
	unknown      string    // why it is not known who else there may be; empty: that is known
}

// count asks the server who there is, and which run was the last one.
func (t *task) count(ctx context.Context) (c census, last *LastRun, err error) {
	line, last, err := t.backend.List(ctx, t.options.File)
	c.all, c.unknown = line.byLock()
	for _, one := range c.all {
		if one.holds() {
			c.holders = append(c.holders, one)
		} else if one.Mode == Cooldown {
			c.cooldown = one
		}
	}
	return c, last, err
}

// status returns the exit status: 0 if somebody has the lock, 1 if nobody does, 75 if that is not known.
func (c census) status(p *output.Printer) int {
	status := 1
	if c.unknown != "" {
		status = p.Fail(Unavailable(c.unknown))
	}
	if len(c.holders) > 0 {
		return 0
	}
	return status
}

// list lists who has the lock and who waits, and the last run, or the contenders for all locks. It returns the exit
// status.
func (t *task) list() int {
	t.printer.UnwrittenStatus = failure.ExOSErr
	c, last, err := t.count(context.Background())
	if err != nil {
		return t.printer.Fail(err)
	}
	var rows [][]string
	for _, one := range c.all {
		mode := string(one.Mode)
		if one.waits {
			mode += " (waiting)"
		}
		rows = append(rows, one.row(mode, clock(one.Since)))
		if one.Mode == Cooldown {
			rows[len(rows)-1] = []string{"-", "-", mode, "-", one.until(), sys.Printable(one.Key)}
		}
	}
	// The row of a run that has the lock says all that is known of it.
	if last != nil && !slices.ContainsFunc(c.holders, func(h Contender) bool { return h.ID == last.ID }) {
		rows = append(rows, last.row("last", clock(last.Since)+last.end(c.unknown != "")))
	}
	t.printer.PrintTable([]string{"HOST", "PID", "MODE", "USER", "SINCE", "KEY"}, rows)
	return c.status(t.printer)
}

func (c Contender) row(mode, since string) []string {
	return []string{sys.Printable(c.Host), strconv.Itoa(c.PID), mode, sys.Printable(c.User), since, sys.Printable(c.Key)}
}

// breakLock takes the lock away from all who hold it. A cooldown stays: it says how to end that. It returns the exit
// status, of the time before.
func (t *task) breakLock() int {
	c, _, err := t.count(context.Background())
	if err != nil {
		return t.printer.Fail(err)
	}
	status := c.status(t.printer)
	if len(c.holders) == 0 && c.unknown == "" && c.cooldown.Until != 0 {
		t.printer.Warn("nobody has the lock " + t.name + ", which is in its cooldown " + c.cooldown.until())
		t.printer.Warn("this ends the cooldown: " + sys.Printable(c.cooldown.Cure))
	}
	for _, h := range c.holders {
		if err := t.backend.Break(context.Background(), h.Key); err != nil {
			return t.printer.Fail(err)
		}
		t.printer.Warn("took the lock " + t.name + " away from " + h.who())
		t.printer.Warn("if its command still runs, it is killed in a moment or, if its machine is cut off, " +
			"at its deadline; until then it can run beside the next one")
	}
	return status
}

// countInTime counts who there is, as far as that is known in a second.
func (t *task) countInTime() census {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c, _, err := t.count(ctx)
	if err != nil {
		c.unknown = t.link.whyUnknown()
	}
	return c
}

// state says why the lock cannot be had.
func (c census) state() string {
	switch {
	case len(c.holders) > 0:
	case c.cooldown.Until != 0:
		return "in its cooldown " + c.cooldown.until()
	case c.unknown != "":
		return "perhaps held: " + c.unknown
	default:
		return "held by another process"
	}
	first := slices.MinFunc(c.holders, func(a, b Contender) int { return cmp.Compare(a.Since, b.Since) })
	text := "held by " + first.who()
	if age := time.Since(time.Unix(first.Since, 0)); age > 0 {
		text += ", running for " + output.FormatAge(age)
	}
	if n := len(c.holders) - 1; n > 0 {
		text += ", and " + strconv.Itoa(n) + " more"
	}
	return text
}
