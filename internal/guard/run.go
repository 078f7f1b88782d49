//go:build unix

package guard

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/sys"
	"example.org/flock/internal/termination"
)

// Run runs the command and forwards signals to it. It returns the exit status when the command has ended, and every
// process that must end with it. If the command has died of a signal that this process was sent, too, or if one comes
// after its end, that ends this process when the lock is released: see package termination.
func (c Command) Run() (status int, err error) {
	signals, err := termination.Catch()
	if err != nil {
		return 0, asFailure(err)
	}
	g, err := c.startGuard()
	if err != nil {
		signals.CommandEnded()
		return 0, asFailure(err)
	}
	makeThreads()
	g.passOnAll(signals) // before the order to run, so that the command gets those from the terminal, too
	g.Give(Message{Kind: Run, Rules: c.Rules})
	last := c.mediate(g, signals)
	signals.CommandEnded() // the end of what the guard has left behind may take for ever
	g.Close()
	switch {
	case last.Kind == Failed:
		return 0, last.Failure(c.Argv[0])
	case last.Kind != Ended:
		return c.killed(g, last)
	case last.Cause == Replaced:
		return 0, locks.ErrReplaced
	}
	return g.Status(last), nil
}

// startGuard starts the guard. That asks for newer tickets by a descriptor of its own, whose number c then has for it;
// here it is closed again. The number of the lock file may be that of standard error, which is /dev/null in the guard.
func (c *Command) startGuard() (*Guard, error) {
	ticket := &c.Rules.Ticket
	if ticket.Number == 0 {
		return Start(c.Argv, c.ForGuard...)
	}
	own, err := unix.FcntlInt(uintptr(ticket.FD), unix.F_DUPFD, 3)
	if err != nil {
		return nil, errors.New("cannot duplicate the descriptor of the lock file: " + sys.Text(err))
	}
	defer unix.Close(own)
	ticket.FD = own
	return Start(c.Argv, append(slices.Clip(c.ForGuard), own)...)
}

// mediate prints the guard's reports and passes signals on to it until it is gone. It returns the last report.
func (c Command) mediate(g *Guard, signals *termination.Signals) (last Message) {
	fds := [2]unix.PollFd{{Fd: int32(g.socketFD), Events: unix.POLLIN}, {Fd: int32(signals.FD), Events: unix.POLLIN}}
	for {
		unix.Poll(fds[:], -1)
		if isReadable(g.socketFD) {
			if !g.receive() {
				return last
			}
			last = g.got
			c.Relay(last)
		}
		g.passOnAll(signals)
	}
}

// passOnAll passes on the signals that have come.
func (g *Guard) passOnAll(signals *termination.Signals) {
	for sig, fromTerminal := signals.Next(); sig != 0; sig, fromTerminal = signals.Next() {
		g.PassOn(sig, fromTerminal)
	}
}

// EndedEarly returns the error of a guard that nobody has killed, and that is gone before the command has started: it
// may have been ended by the Go runtime, which needs some threads.
func (g *Guard) EndedEarly() error {
	why := "its guard has ended before the command could start: is there a limit of processes or of memory?"
	if g.end.ExitStatus() == isOtherVersion {
		why = "this program was replaced by another version while it waited"
	}
	return asFailure(errors.New(why))
}

// killed returns the status of a command whose guard is gone without the last report, after one or none, and kills what
// is left of it.
func (c Command) killed(g *Guard, report Message) (status int, err error) {
	switch by := g.KilledBy(); {
	case report.Kind != 0, by == unix.SIGKILL: // it has caught signals, and was killed all the same
	case slices.Contains(termination.Forwarded, by): // before it caught them, and for this process
		return termination.EndBy(by), nil
	default: // -1, or the signal by which the Go runtime ends
		return 0, g.EndedEarly()
	}
	c.Note("the guard of " + c.Argv[0] + " was killed, and so were all its descendants")
	g.killAll(Orphaned, never, func(m Message) {
		if m.Kind == Unkillable {
			c.Relay(m)
		}
	})
	return 128 + int(syscall.SIGKILL), nil
}

// asFailure makes an error one that the user sees.
func asFailure(err error) error {
	if known, ok := err.(*failure.Error); ok {
		return known
	}
	return &failure.Error{Status: failure.ExOSErr, Text: "cannot supervise the command: " + err.Error(), Cause: err}
}

// Relay prints a report, if it is one for the user.
func (c Command) Relay(m Message) {
	who := "process " + strconv.Itoa(m.Number)
	if m.Text != "" && m.Text != "-" {
		who += " (" + strings.TrimSpace(m.Text) + ")"
	}
	switch name := c.Argv[0]; {
	case m.Kind == Overrun:
		c.Note(name + " exceeded its limit of " + strconv.FormatFloat(c.Rules.Limit.Seconds(), 'f', -1, 64) +
			" s; terminating it")
	case m.Kind == Leftover && c.NotesMore:
		c.Note(name + " has left " + who + " running; it is terminated")
	case m.Kind == Killing:
		c.Note(who + " did not exit after SIGTERM and is killed")
	case m.Kind == Unkillable:
		c.Note(who + " cannot be killed (no permission): waiting for it to exit")
	case m.Kind == Killable:
		c.Note(who + " can be killed now, and is")
	}
}
