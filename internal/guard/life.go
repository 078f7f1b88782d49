//go:build unix

package guard

import (
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/locks"
	"example.org/flock/internal/proc"
)

// A state is one of the life of a guard. These are all the transitions, but for one: to over, from running and every
// state after it, when the command has ended and nobody is left.
//
//	from         to           when
//	ready        running      the command was started
//	             over         it is too late for that, or it cannot be started
//	running      over         the command has ended, and what it has left may stay
//	             counting     there is a cause why all have to end: see dueCause
//	counting     terminating  two looks have found the same processes, or 50 ms have passed: they get SIGTERM and SIGCONT
//	             killing      as from terminating
//	terminating  killing      the ten seconds are over, or Deadlines.Kill has come; somebody wants that (Abort, or a
//	                          signal after the end of the command); the command has ended, and the lock is lost
//	killing      waiting      only those are left who may not be killed
//	waiting      killing      somebody else has come
//	             over         the lock is lost: its server does not wait for them
type state int

const (
	ready       state = iota // there was no order to run
	running                  // the command runs
	counting                 // all have to end: who they are is being found out
	terminating              // they have got SIGTERM
	killing                  // they and all others get SIGKILL, again and again
	waiting                  // those are left who may not be killed
	over                     // the last report is sent
)

// The pauses between two looks at the descendants.
const (
	pauseOfCount = 5 * time.Millisecond
	mostOfCount  = 50 * time.Millisecond // for all looks: make -j never rests
	pauseOfKill  = 5 * time.Millisecond
	pauseOfWait  = 100 * time.Millisecond
	pauseOfEnds  = 25 * time.Millisecond // where the system does not tell when the last one has ended
)

// A life is what a guard knows, and in which state it is.
type life struct {
	state     state
	rules     Rules
	deadlines Deadlines
	limitAt   time.Duration // when the limit of the rules is reached
	newerAt   time.Duration // when to look next whether somebody newer has come
	replaced  bool          // that is so
	orphaned  bool          // nobody gives orders any more
	aborted   bool          // the lock is lost
	hurries   bool          // who has to end is killed at once

	family  family
	remains bool // somebody of the family is there
	status  int  // of the command, when it has ended
	killed  bool // by a signal
	// A terminal, or systemd, sends a signal to all. If the command dies of it before it has come here, it is expected
	// here, and then no wish for hurry. If it has come before, it is the last one, and if it comes again, such a wish.
	last     syscall.Signal   // that came here while the command lived
	expected syscall.Signal   // 0: none
	early    []syscall.Signal // came here before the order to run

	cause   Cause         // why all have to end
	killAt  time.Duration // when the time to end is over
	countAt time.Duration // when the time to count is over
	lookAt  time.Duration // when the next look is due
	looks   int           // while counting
	barred  int           // one of those who may not be killed

	endsParentsStop bool // the parent is to go on, should it be stopped

	report   func(Message)
	reported map[Kind][]process // those about whom there was a line
}

func newLife(report func(Message)) *life {
	return &life{deadlines: noDeadlines, limitAt: never, killAt: never, newerAt: never, report: report,
		reported: map[Kind][]process{}}
}

// begin begins to run, when the command was started, and passes on what has come before that: the early signals, and
// what the terminal has sent to the process group while the guard was in it, and mostly there was no command yet.
func (l *life) begin(fromTerminal []syscall.Signal) {
	l.state, l.remains = running, true
	if l.rules.Limit > 0 && l.rules.Limit < never-Now() {
		l.limitAt = Now() + l.rules.Limit
	}
	l.report(Message{Kind: Started, Number: l.family.command, Group: l.family.group})
	for _, s := range fromTerminal {
		if l.family.group == 0 && !slices.Contains(l.early, s) {
			l.early = append(l.early, s)
		}
	}
	for _, s := range l.early {
		l.family.pass(s)
	}
}

// alive reports whether the command runs.
func (l *life) alive() bool { return l.family.command != 0 }

// dueCause returns why all have to end now; NoCause: they need not.
func (l *life) dueCause() Cause {
	now := Now()
	switch {
	case l.aborted, now >= l.deadlines.Term, l.orphaned && !l.rules.KeepsLock:
		return Lost
	case now >= l.limitAt:
		return AtLimit
	case l.replaced:
		return Replaced
	case l.orphaned:
		return Orphaned
	case !l.alive() && l.rules.Leftovers:
		return LeftSome
	}
	return NoCause
}

// lookForNewer looks, if that is due, whether somebody newer has come.
func (l *life) lookForNewer() {
	if now := Now(); now >= l.newerAt {
		l.replaced, l.newerAt = !l.rules.Ticket.IsNewest(), now+locks.Unrung
	}
}

// proceed does what is due, until the next event: as long as that leads to another state.
func (l *life) proceed() {
	for goesOn := true; goesOn; {
		before := l.state
		l.step()
		goesOn = l.state != before
	}
}

// step does what is due in this state.
func (l *life) step() {
	now, due := Now(), l.dueCause()
	if l.state > running && due == Lost {
		l.cause = Lost // whatever it was until now
	}
	hasBegun := l.state != ready && l.state != over
	if hasBegun && !l.alive() && !l.remains {
		l.finish(0)
		return
	}
	if l.isTimeToKill(now) {
		l.state, l.lookAt = killing, now
	}
	switch l.state {
	case running:
		l.endRun(now, due)
	case counting:
		l.count(now)
	case terminating:
		l.lookAt = now + pauseOfEnds
	case killing:
		l.kill(now)
	case waiting:
		l.awaitSurvivors(now)
	}
}

// endRun ends the state running, if the command has ended and what it has left may stay, or if all have to end.
func (l *life) endRun(now time.Duration, due Cause) {
	switch {
	case !l.alive() && !l.rules.Leftovers:
		l.finish(0)
	case due != NoCause:
		l.endAll(now, due)
	}
}

// endAll begins to end all.
func (l *life) endAll(now time.Duration, why Cause) {
	l.state, l.cause, l.lookAt, l.countAt = counting, why, now, now+mostOfCount
	if why != Lost {
		l.killAt = now + grace
	}
	if why == AtLimit {
		l.report(Message{Kind: Overrun})
	}
}

// count finds out who they are, and sends SIGTERM to those whom it has found. Who comes later gets none: it may be what
// the command has started to clean up.
func (l *life) count(now time.Duration) {
	if now < l.lookAt {
		return
	}
	isSame := l.family.look()
	if l.looks++; l.looks > 1 && isSame || now >= l.countAt {
		l.forEach(Leftover, l.terminate)
		l.state = terminating
	}
	l.lookAt = now + pauseOfCount
}

// isTimeToKill reports whether there are some who are to end by SIGTERM, and they have had their time.
func (l *life) isTimeToKill(now time.Duration) bool {
	areToEnd := l.state == counting || l.state == terminating
	isLost := l.cause == Lost && !l.alive()
	return areToEnd && (l.hurries || isLost || now >= min(l.killAt, l.deadlines.Kill))
}

// terminate sends a process SIGTERM. A stopped one is continued for that.
func (l *life) terminate(p process) {
	name := ""
	if l.cause == LeftSome {
		name = l.nameFor(Leftover, p)
	}
	if err := l.family.send(p, unix.SIGTERM); err == unix.EPERM {
		l.reportOne(Unkillable, p, l.nameFor(Unkillable, p))
		return
	}
	l.family.send(p, unix.SIGCONT)
	l.reportOne(Leftover, p, name)
}

// kill kills all who are there, if that is due, and finds out whether others are left than those who may not be killed:
// in the states killing and waiting.
func (l *life) kill(now time.Duration) {
	if now < l.lookAt {
		return
	}
	if l.family.look() { // otherwise it is due again at once: who was killed may have started others just before
		l.lookAt = now + pauseOfKill
	}
	l.state = killing
	killed := 0
	l.forEach(Killing, func(p process) {
		kind := Killing
		if l.hasReported(Unkillable, p) { // so it was not sent SIGTERM
			kind = Killable
		}
		name := l.nameFor(kind, p)
		if err := l.family.send(p, unix.SIGKILL); err == unix.EPERM {
			l.barred = p.number()
			l.reportOne(Unkillable, p, l.nameFor(Unkillable, p))
			return
		}
		killed++
		l.reportOne(kind, p, name)
	})
	if len(l.family.list) > 0 && killed == 0 {
		l.state, l.lookAt = waiting, now+pauseOfWait
	}
}

// awaitSurvivors waits for those who may not be killed, and kills who comes. The server of a lock that is lost does not
// wait for them.
func (l *life) awaitSurvivors(now time.Duration) {
	if l.cause == Lost {
		l.finish(l.barred)
	} else {
		l.kill(now)
	}
}

// forEach calls do with each process of the list. Those for whom there may be a line of the kind come last: the name of
// a process that forks again and again can be read only between two forks, which takes a second among a hundred such.
func (l *life) forEach(kind Kind, do func(process)) {
	n := min(len(l.family.list), mostLines-len(l.reported[kind]))
	for _, p := range l.family.list[n:] { // without a line
		do(p)
	}
	for _, p := range l.family.list[:n] {
		do(p)
	}
}

// finish sends the last report.
func (l *life) finish(survivor int) {
	l.endsParentsStop = l.state != running // of a command that ends by itself it is as without a guard
	l.state = over
	l.report(Message{Kind: Ended, Number: l.status, Killed: l.killed, Cause: l.cause, Survivor: survivor})
}

// nextTime returns when something is due, whatever happens until then.
func (l *life) nextTime() time.Duration {
	at := never
	switch l.state {
	case running:
		at = min(l.limitAt, l.newerAt)
	case counting, killing, waiting:
		at = l.lookAt
	case terminating:
		at = min(l.killAt, l.deadlines.Kill)
		if !lastEndIsEvent {
			at = min(at, l.lookAt)
		}
	}
	if l.cause != Lost {
		at = min(at, l.deadlines.Term)
	}
	return at
}

// foresee takes from an order what counts before those that came earlier.
func (l *life) foresee(m Message) {
	if m.Deadlines != (Deadlines{}) && l.cause != Lost {
		l.deadlines = m.Deadlines
	}
	if m.Kind == Abort {
		l.aborted, l.hurries = true, true
	}
}

// passOn sends a signal to the command. After the end of that, signals have what is left killed at once, except for
// SIGWINCH and the one that the command has died of.
func (l *life) passOn(s syscall.Signal, fromTerminal bool) {
	switch {
	case l.state == ready:
		if !slices.Contains(l.early, s) {
			l.early = append(l.early, s)
		}
		l.last = s
	case l.alive():
		l.last = s
		// In the process group of the guard's parent, the command has it from the terminal already.
		if l.family.group != 0 || !fromTerminal {
			l.family.pass(s)
		}
	case s == l.expected:
		l.expected = 0
	case l.state > running && s != unix.SIGWINCH:
		l.hurries = true
	}
}

// noteEnd takes note that a child has ended, if it is the command.
func (l *life) noteEnd(pid int, w syscall.WaitStatus) {
	if pid != l.family.command {
		return
	}
	l.family.command, l.status, l.killed = 0, w.ExitStatus(), w.Signaled()
	if l.killed {
		l.status = 128 + int(w.Signal())
	}
	if l.killed && l.state == running && w.Signal() != l.last {
		l.expected = w.Signal()
	}
}

// mostLines is how many lines there are of a kind.
const mostLines = 5

// nameFor returns the command line of a process for a line of a kind; "" if there is to be none. One that has ended has
// none.
func (l *life) nameFor(kind Kind, p process) string {
	if l.hasReported(kind, p) || len(l.reported[kind]) == mostLines || l.cause == Lost {
		return ""
	}
	name := proc.Command(p.number())
	if !l.family.has(p) {
		return ""
	}
	return strings.ToValidUTF8(name[:min(len(name), 80)], "")
}

// hasReported reports whether there was a line of the kind about a process.
func (l *life) hasReported(kind Kind, p process) bool {
	return slices.ContainsFunc(l.reported[kind], p.is)
}

func (l *life) reportOne(kind Kind, p process, name string) {
	if name != "" {
		l.reported[kind] = append(l.reported[kind], p)
		l.report(Message{Kind: kind, Number: p.number(), Text: name})
	}
}
