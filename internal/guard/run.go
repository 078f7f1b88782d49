//go:build unix

package guard

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/command"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/proc"
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
	c.Rules.KeepsLock = true
	passedOn := map[syscall.Signal]bool{}
	g.passOnAll(signals, passedOn) // before the order to run, so that the command gets those from the terminal, too
	g.Give(Message{Kind: Run, Rules: c.Rules})
	last := c.mediate(g, signals, passedOn)
	signals.CommandEnded() // the end of what the guard has left behind may take for ever
	g.Close()
	if last.Kind != Ended {
		return c.killed(g, last)
	}
	return c.status(last, passedOn)
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
func (c Command) mediate(g *Guard, signals *termination.Signals, passedOn map[syscall.Signal]bool) (last Message) {
	fds := [3]unix.PollFd{}
	for i, fd := range []int{g.socketFD, g.endFD, signals.FD} {
		fds[i] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	}
	for open := true; open; {
		if n, _ := unix.Poll(fds[:], -1); n > 0 && fds[0].Revents|fds[1].Revents != 0 {
			open = g.receive(func(m Message) {
				last = m
				c.Relay(m)
			})
		}
		g.passOnAll(signals, passedOn)
	}
	return last
}

// passOnAll passes on the signals that have come, and notes them.
func (g *Guard) passOnAll(signals *termination.Signals, passedOn map[syscall.Signal]bool) {
	for sig, fromTerminal := signals.Next(); sig != 0; sig, fromTerminal = signals.Next() {
		passedOn[sig] = true
		g.PassOn(sig, fromTerminal)
	}
}

// ErrEnded is for a guard that nobody has killed, and that is gone before the command has started: it may have been
// ended by the Go runtime, which needs some threads.
var ErrEnded = asFailure(errors.New("its guard has ended before the command could start: " +
	"is there a limit of processes or of memory?"))

// killed returns the status of a command whose guard is gone without the last report, after one or none, and kills what
// is left of it.
func (c Command) killed(g *Guard, report Message) (status int, err error) {
	switch by := g.KilledBy(); {
	case report.Kind != 0: // it has caught signals, and was killed all the same
	case by == 0:
		return 0, ErrEnded
	case slices.Contains(termination.Forwarded, by): // before it caught them, and for this process
		return termination.EndBy(by), nil
	}
	c.Note("the guard of " + c.Argv[0] + " was killed, and so were all its descendants")
	g.closeAll()
	g.family.killAll(func(pid int) { c.Relay(Message{Kind: Unkillable, Number: pid, Text: proc.Command(pid)}) })
	return 128 + int(syscall.SIGKILL), nil
}

// status returns that of a command by the last report.
func (c Command) status(last Message, passedOn map[syscall.Signal]bool) (status int, err error) {
	sig := syscall.Signal(last.Number - 128)
	switch {
	case last.Text != "":
		return 0, failedToStart(c.Argv[0], last)
	case last.Cause == Replaced:
		return 0, locks.ErrReplaced
	case last.Cause == AtLimit:
		return StatusAtLimit, nil
	case last.Killed && passedOn[sig]:
		return termination.EndBy(sig), nil // so that a shell sees by its status that it should end, too
	}
	return last.Number, nil
}

// failedToStart returns the error of a command that the guard could not start.
func failedToStart(name string, m Message) error {
	if m.Errno != 0 {
		return command.NotExecuted(name, m.Errno)
	}
	return &failure.Error{Status: m.Number, Text: m.Text}
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
