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

// A life is what a guard knows of the command and its family, and what it does to them.
//
//	The command runs until it has ended, or until there is a cause why all have to end: see dueCause. If it has ended
//	by itself, what it has left may stay, unless that is the cause.
//	Then all have to end: they get SIGTERM and SIGCONT, and have time for that until isTimeToKill.
//	Then they and all others are killed, again and again. It waits for those who may not be killed, unless the lock is
//	lost: its server does not.
//	It is over when the last report is sent.
type life struct {
	rules     Rules
	deadlines Deadlines
	limitAt   time.Duration // when the limit of the rules is reached
	newerAt   time.Duration // when to look next whether somebody newer has come
	replaced  bool          // that is so
	orphaned  bool          // nobody gives orders any more
	hurries   bool          // who has to end is killed at once

	family family
	alive  bool               // the command runs
	end    syscall.WaitStatus // of the command, when it has ended
	// A terminal, or systemd, sends a signal to all. If the command dies of it before it has come here, it is expected
	// here, and then no wish for hurry. If it has come before, it is the last one, and if it comes again, such a wish.
	last     syscall.Signal // that came here while the command lived
	expected syscall.Signal // 0: none

	cause  Cause         // why all have to end; NoCause: they need not
	killAt time.Duration // when the time to end is over
	lookAt time.Duration // when those who are killed are looked for again
	isOver bool

	report   func(Message)
	reported map[Kind][]process // those about whom there was a line
}

// The pauses between two looks at the descendants.
const (
	pauseOfCount = 5                     // milliseconds
	mostOfCount  = 50 * time.Millisecond // for all looks: make -j never rests
	pauseOfKill  = 5 * time.Millisecond
	pauseOfWait  = 100 * time.Millisecond
	pauseOfEnds  = 25 * time.Millisecond // not every system tells when the last one has ended
)

func newLife(report func(Message)) *life {
	return &life{deadlines: noDeadlines, limitAt: never, newerAt: never, report: report,
		reported: map[Kind][]process{}}
}

// begin takes note that the command was started.
func (l *life) begin(command int) {
	l.family.command, l.alive = command, true
	if l.rules.Limit > 0 && l.rules.Limit < never-Now() {
		l.limitAt = Now() + l.rules.Limit
	}
	l.report(Message{Kind: Started, Number: command, Group: l.family.group})
}

// dueCause returns why all have to end now; NoCause: they need not.
func (l *life) dueCause(now time.Duration) Cause {
	switch {
	case now >= l.deadlines.Term, l.orphaned && l.deadlines != noDeadlines: // which somebody else would have to renew
		return Lost
	case now >= l.limitAt:
		return AtLimit
	case l.replaced:
		return Replaced
	case l.orphaned:
		return Orphaned
	}
	return NoCause
}

// lookForNewer looks, if that is due, whether somebody newer has come.
func (l *life) lookForNewer() {
	if now := Now(); now >= l.newerAt {
		l.replaced, l.newerAt = !l.rules.Ticket.IsNewest(), now+locks.Unrung
	}
}

// proceed does what is due. hasChildren says whether this process has children that have not ended.
func (l *life) proceed(hasChildren bool) {
	now := Now()
	due := l.dueCause(now)
	if l.cause != NoCause && due == Lost {
		l.cause = Lost // whatever it was until now
	}
	isLeft := l.alive || l.family.remains(hasChildren)
	switch {
	case !isLeft, !l.alive && l.cause == NoCause && !l.rules.Leftovers:
		l.finish(0)
	case l.cause != NoCause && l.isTimeToKill(now):
		l.kill(now)
	case l.cause != NoCause: // they have time
	case due != NoCause:
		l.endAll(now, due)
	case !l.alive:
		l.endAll(now, LeftSome)
	}
}

// endAll begins to end all. It finds out who they are, and sends them SIGTERM, if there is time for that. Those who come
// later get none: they may be what the command has started to clean up.
func (l *life) endAll(now time.Duration, why Cause) {
	l.cause, l.killAt, l.lookAt = why, never, now
	if why != Lost {
		l.killAt = now + grace
	}
	if why == AtLimit {
		l.report(Message{Kind: Overrun})
	}
	if !l.isTimeToKill(now) {
		l.family.count()
		l.signalAll(unix.SIGTERM, Leftover)
	}
}

// isTimeToKill reports whether those who are to end by SIGTERM have had their time.
func (l *life) isTimeToKill(now time.Duration) bool {
	return l.hurries || l.cause == Lost && !l.alive || now >= min(l.killAt, l.deadlines.Kill)
}

// kill kills all who are there, if that is due, and finds out whether others are left than those who may not be killed.
func (l *life) kill(now time.Duration) {
	if now < l.lookAt {
		return
	}
	isSame := l.family.look()
	reached, barred := l.signalAll(unix.SIGKILL, Killing)
	switch isWaiting := barred != 0 && reached == 0; {
	case isWaiting && l.cause == Lost:
		l.finish(barred)
	case isWaiting:
		l.lookAt = now + pauseOfWait
	case isSame: // otherwise it is due again at once: who was killed may have started others just before
		l.lookAt = now + pauseOfKill
	}
}

// signalAll sends a signal to each process of the list, with a line of the kind. A stopped one is continued for SIGTERM.
// It returns how many have got it, and one of those that may not be sent any; 0: there is none.
//
// Those for whom there may be a line come last: the name of a process that forks again and again can be read only
// between two forks, which takes a second among a hundred such.
func (l *life) signalAll(s syscall.Signal, kind Kind) (reached, barred int) {
	n := min(len(l.family.list), mostLines-len(l.reported[kind]))
	for i := range l.family.list {
		p, kind := l.family.list[(i+n)%len(l.family.list)], kind
		if l.hasReported(Unkillable, p) { // so it was not sent SIGTERM
			kind = Killable
		}
		name := l.nameFor(kind, p)
		if err := l.family.send(p, s); err == unix.EPERM {
			barred = p.number()
			l.reportOne(Unkillable, p, l.nameFor(Unkillable, p))
			continue
		}
		reached++
		if s == unix.SIGTERM {
			l.family.send(p, unix.SIGCONT)
		}
		l.reportOne(kind, p, name)
	}
	return reached, barred
}

// finish sends the last report.
func (l *life) finish(survivor int) {
	l.isOver = true
	m := Message{Kind: Ended, Number: l.end.ExitStatus(), Killed: l.end.Signaled(), Cause: l.cause, Survivor: survivor}
	if m.Killed {
		m.Number = 128 + int(l.end.Signal())
	}
	l.report(m)
}

// nextTime returns when something is due, whatever happens until then.
func (l *life) nextTime() time.Duration {
	now, at := Now(), min(l.limitAt, l.newerAt)
	switch {
	case l.cause == NoCause:
	case l.isTimeToKill(now):
		at = l.lookAt
	default:
		at = min(l.killAt, l.deadlines.Kill, now+pauseOfEnds)
	}
	if l.cause != Lost {
		at = min(at, l.deadlines.Term)
	}
	return at
}

// passOn sends a signal to the command. After the end of that, signals have what is left killed at once, except for
// SIGWINCH and the one that the command has died of.
func (l *life) passOn(s syscall.Signal, fromTerminal bool) {
	switch {
	case l.alive:
		l.last = s
		// In the process group of the guard's parent, the command has it from the terminal already.
		if l.family.group != 0 || !fromTerminal {
			l.family.pass(s)
		}
	case s == l.expected:
		l.expected = 0
	case s != unix.SIGWINCH:
		l.hurries = true
	}
}

// noteEnd takes note that a child has ended, if it is the command.
func (l *life) noteEnd(pid int, w syscall.WaitStatus) {
	if pid != l.family.command {
		return
	}
	l.family.command, l.alive, l.end = 0, false, w
	if w.Signaled() && l.cause == NoCause && w.Signal() != l.last {
		l.expected = w.Signal()
	}
}

// mostLines is how many lines there are of a kind.
const mostLines = 5

// nameFor returns the command line of a process for a line of a kind; "" if there is to be none. One that has ended has
// none.
func (l *life) nameFor(kind Kind, p process) string {
	isLeft := kind != Leftover || l.cause == LeftSome
	if !isLeft || l.cause == Lost || l.hasReported(kind, p) || len(l.reported[kind]) == mostLines {
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
