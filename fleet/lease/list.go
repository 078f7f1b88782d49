//go:build unix

package lease

import (
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
	case l.Ended.IsZero() && isUnknown:
		return ", end unknown"
	case l.Ended.IsZero():
		return ", lost"
	}
	until := " until " + l.Ended.Format(output.Clock)
	switch {
	case l.Signal != nil:
		return until + ", signal " + strconv.Itoa(*l.Signal)
	case l.Status != nil:
		return until + ", status " + strconv.Itoa(*l.Status)
	}
	return until + ", not started"
}

func (c Contender) until() string { return "until " + output.FormatClock(c.Until) }

// contenders returns who has the lock and who waits, or those of all locks, and why it is not known who else there may
// be; empty: that is known.
func (t *task) contenders(ctx context.Context) (list []Contender, unknown string, err error) {
	line, _, err := t.backend.List(ctx, t.options.File)
	list, unknown = line.byLock()
	return list, unknown, err
}

// list lists who has the lock and who waits, and the last run, or the contenders for all locks. It returns the exit
// status: 0 if somebody has it, 1 if nobody does, 75 if that is not known.
func (t *task) list() int {
	t.printer.UnwrittenStatus = failure.ExOSErr
	line, last, err := t.backend.List(context.Background(), t.options.File)
	if err != nil {
		return t.printer.Fail(err)
	}
	all, unknown := line.byLock()
	var rows [][]string
	for _, c := range all {
		mode := string(c.Mode)
		if c.waits {
			mode += " (waiting)"
		}
		row := []string{sys.Printable(c.Host), strconv.Itoa(c.PID), mode, sys.Printable(c.User),
			c.Since.Format(output.Clock), sys.Printable(c.Key)}
		if c.Mode == Cooldown {
			row = []string{"-", "-", mode, "-", c.until(), sys.Printable(c.Key)}
		}
		rows = append(rows, row)
	}
	// The row of a run that has the lock says all that is known of it.
	if last != nil && !slices.ContainsFunc(all, func(c Contender) bool { return c.holds() && c.ID == last.ID }) {
		rows = append(rows, []string{sys.Printable(last.Host), strconv.Itoa(last.PID), "last", sys.Printable(last.User),
			last.Since.Format(output.Clock) + last.end(unknown != ""), sys.Printable(last.Key)})
	}
	t.printer.PrintTable([]string{"HOST", "PID", "MODE", "USER", "SINCE", "KEY"}, rows)
	status := 1
	if unknown != "" {
		status = t.printer.Fail(Unavailable(unknown))
	}
	if slices.ContainsFunc(all, Contender.holds) {
		return 0
	}
	return status
}

// breakLock takes the lock away from all who hold it. A cooldown stays: it says how to end that. It returns the exit
// status: 0 if somebody did, 1 if nobody does, 75 if that is not known.
func (t *task) breakLock() int {
	all, unknown, err := t.contenders(context.Background())
	if err != nil {
		return t.printer.Fail(err)
	}
	status := 1
	if unknown != "" {
		status = t.printer.Fail(Unavailable(unknown))
	}
	holders := slices.DeleteFunc(slices.Clone(all), func(c Contender) bool { return !c.holds() })
	cools := slices.IndexFunc(all, func(c Contender) bool { return c.Mode == Cooldown })
	if len(holders) == 0 && unknown == "" && cools >= 0 {
		t.printer.Warn("nobody has the lock " + t.name + ", which is in its cooldown " + all[cools].until())
		t.printer.Warn("this ends the cooldown: " + sys.Printable(all[cools].Cure))
	}
	for _, c := range holders {
		if err := t.backend.Break(context.Background(), c.Key); err != nil {
			return t.printer.Fail(err)
		}
		t.printer.Warn("took the lock " + t.name + " away from " + c.who())
		t.printer.Warn("if its command still runs, it is killed in a moment or, if its machine is cut off, " +
			"at its deadline; until then it can run beside the next one")
		status = 0
	}
	return status
}

// state says why the lock cannot be had, as far as that is known in a second.
func (t *task) state() string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	all, unknown, err := t.contenders(ctx)
	if err != nil {
		unknown = t.link.whyUnknown()
	}
	holders := slices.DeleteFunc(slices.Clone(all), func(c Contender) bool { return !c.holds() })
	if len(holders) == 0 {
		if i := slices.IndexFunc(all, func(c Contender) bool { return c.Mode == Cooldown }); i >= 0 {
			return "in its cooldown " + all[i].until()
		}
		if unknown != "" {
			return "perhaps held: " + unknown
		}
		return "held by another process"
	}
	first := slices.MinFunc(holders, func(a, b Contender) int { return a.Since.Compare(b.Since) })
	text := "held by " + first.who()
	if age := time.Since(first.Since); age > 0 {
		text += ", running for " + output.FormatAge(age)
	}
	if n := len(holders) - 1; n > 0 {
		text += ", and " + strconv.Itoa(n) + " more"
	}
	return text
}
