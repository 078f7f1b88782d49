package main

import (
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/holders"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/output"
	"example.org/flock/internal/sys"
)

// showHolders lists who holds the lock and who waits, and returns the exit status: 0 if somebody holds it, 1 if nobody
// does. Anything that is not one of these answers has another status.
func showHolders(p *output.Printer, o *cli.Options) int {
	p.UnwrittenStatus = failure.ExOSErr
	f := namedFile(o)
	list, err := holders.Find(f, o.Config)
	rows, isHeld := list.Rows()
	switch {
	case err != nil:
	case list.Missing != nil && len(rows) == 0:
		p.Warn(failure.Opening(f.Name, list.Missing).Text) // nobody holds it, but the name may be mistyped
	case list.Partial && !isHeld:
		p.Warn("only processes of this pid namespace can be seen: others may hold " + f.Name)
	}
	if err == nil || len(rows) > 0 {
		p.PrintTable([]string{"PID", "MODE", "USER", "AGE", "COMMAND"}, rows)
	}
	switch {
	case err != nil:
		return p.Fail(err)
	case !isHeld:
		return 1
	}
	return 0
}

// namedFile returns the file that the user names.
func namedFile(o *cli.Options) *lockfile.File {
	if o.FD >= 0 {
		return lockfile.Descriptor(o.FD)
	}
	return lockfile.Unopened(o.File)
}

// reportWait says who has the lock whenever a report is due, until stop is called. It does so beside the wait: a
// repeated lock call would lose its place in the kernel's queue. A line that nobody reads keeps only the next one, and
// stop does not wait for it: it would keep the command from starting.
func (a *attempt) reportWait() (stop func()) {
	var stopped atomic.Bool
	say := func(state string) (goesOn bool) {
		if stopped.Load() {
			return false
		}
		a.out.Note("waiting for " + targetName(a.Options) + ", " + state)
		return true
	}
	report := a.reportAncestor
	if a.Reports {
		report = a.reportRepeatedly
	}
	go report(a.wanted(), say)
	return func() { stopped.Store(true) }
}

// reportAncestor says after a second, for --verbose, that the wait is for a process which waits for this one.
func (a *attempt) reportAncestor(wanted locks.Config, say func(state string) (goesOn bool)) {
	sys.Sleep(time.Second)
	if state := a.ancestorState(wanted); state != "" {
		say(state)
	}
}

// reportRepeatedly says who has the lock, for --report: at once if that is a process which waits for this one.
func (a *attempt) reportRepeatedly(wanted locks.Config, say func(state string) (goesOn bool)) {
	pause := a.ReportAfter
	if a.ancestorState(wanted) != "" {
		pause = 0
	}
	for goesOn := true; goesOn; pause = a.NextReport(pause) {
		sys.Sleep(pause)
		goesOn = say(a.state(wanted))
	}
}

// reportRefusal says that the lock is refused, and why: see refusalLine.
func (a *attempt) reportRefusal(err error) {
	var r *locks.Refusal
	if errors.As(err, &r) && !r.Denied { // else refusalLine says why
		a.out.WarnVerbose(r.Why)
	}
	if a.Reports || a.Verbose {
		if line := a.refusalLine(err); line != "" {
			a.out.Note(line)
		}
	}
	a.out.WarnVerbose(locks.RefusalText(err))
}

// reportReplaced says that a newer run has come, and returns the exit status.
func (a *attempt) reportReplaced() (status int) {
	a.out.Note(a.file.Name + ": " + locks.ErrReplaced.Error())
	return a.ConflictExit
}

// refusalLine returns the line about a lock that is refused: that the kernel denies it, with --report who has it, and
// otherwise only that a process has it which waits for this one; "" if that is not so.
func (a *attempt) refusalLine(err error) string {
	name, wanted := targetName(a.Options), a.wanted()
	var r *locks.Refusal
	switch {
	case errors.As(err, &r) && r.Denied:
		return name + ": " + r.Why
	case a.Reports && a.Queued && errors.Is(err, locks.ErrConflict):
		// It did not only try: with -n it is not Queued.
		return name + " is " + a.state(wanted) + "; its queue is full"
	case a.Reports:
		return name + " is " + a.state(wanted)
	}
	if state := a.ancestorState(wanted); state != "" {
		return name + " is " + state
	}
	return ""
}

// reportsKeepers reports whether to say who keeps the lock when the command has ended.
func (a *attempt) reportsKeepers() bool {
	isWhole := a.Op == locks.Exclusive && a.Range == locks.Range{} && a.Permits == 0
	return a.Reports && !a.Close && a.file.ByName && isWhole
}

// keepersLine says who keeps the lock when the command has ended, "" if nobody does: processes that the command has
// left behind with our open file. As a rule there are none, which the kernel tells at once if this process has let go.
func (a *attempt) keepersLine(hasLetGo bool) string {
	var list holders.List
	if hasLetGo {
		list = holders.Keepers(a.file.FD)
	} else { // we still have the lock, so all who have it have our open file
		list, _ = holders.Find(lockfile.Descriptor(a.file.FD), a.wanted())
	}
	keeper, more := list.Oldest()
	if keeper.PID == 0 {
		return ""
	}
	return a.file.Name + " is still held by " + keeper.Name() + more + "; -o would prevent that"
}

// targetName names what is locked.
func targetName(o *cli.Options) string {
	if o.FD >= 0 {
		return "descriptor " + strconv.Itoa(o.FD)
	}
	return o.File
}

// wanted returns what the attempt is to lock, by the mechanism that serves, if that is known.
func (a *attempt) wanted() locks.Config { return a.lock.Narrow(a.Config) }

// state says why the lock cannot be had, as far as that is known.
func (a *attempt) state(wanted locks.Config) string {
	if state := a.ancestorState(wanted); state != "" {
		return state
	}
	list := holders.InTheWay(namedFile(a.Options), wanted, a.Op)
	return list.State(a.Cooldown > 0)
}

// ancestorState says which process that has started this one keeps it out; "" if there is none.
func (a *attempt) ancestorState(wanted locks.Config) string {
	h := holders.Ancestor(namedFile(a.Options), wanted, a.Op)
	if h.PID == 0 {
		return ""
	}
	return ancestorText(h)
}

// ancestorText says of a process that has started this one that it keeps it out.
func ancestorText(h holders.Entry) string {
	return "held by " + h.Name() + ", which waits for this one"
}
