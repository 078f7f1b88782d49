//go:build unix

package guard

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"example.org/flock/internal/command"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/proc"
	"example.org/flock/internal/termination"
)

// Run runs the command and passes on the signals that come. It returns when the command has ended and all that has to
// end with it.
func (c Command) Run() (Result, error) {
	signals := termination.Forward()
	defer termination.PutOffAgain(signals)
	g, err := Start(c.Argv, c.Kept...)
	if err != nil {
		return Result{}, asFailure(err)
	}
	c.Rules.Supervised = true
	g.Give(Message{Kind: Run, Limits: Unlimited, Rules: c.Rules})
	var passedOn []os.Signal
	last := Message{}
	for {
		select {
		case m, open := <-g.Reports:
			if !open {
				passedOn = append(passedOn, termination.Arrived(signals)...)
				return c.result(g, last, passedOn)
			}
			last = m
			c.Remark(m)
		case s := <-signals:
			passedOn = append(passedOn, s)
			g.PassOn(s.(syscall.Signal))
		}
	}
}

// result returns how the command has ended, by the last report of a guard that is gone.
func (c Command) result(g *Guard, last Message, passedOn []os.Signal) (Result, error) {
	g.Close()
	by := g.KilledBy()
	switch {
	case last.Kind == 0 && slices.Contains(termination.Forwarded, os.Signal(by)):
		// It came before the guard caught signals, and was for this process.
		return Result{Status: 128 + int(by), Signal: by}, nil
	case last.Kind != Ended:
		c.Tell("the guard of " + c.name() + " was killed, and so is all that " + c.name() + " has started")
		g.endAll(func(pid int) { c.Remark(Message{Kind: Unkillable, Number: pid, Text: proc.Command(pid)}) })
		return Result{Status: 128 + int(syscall.SIGKILL)}, nil
	case last.Text != "":
		return Result{}, failedToStart(c.Argv[0], last)
	case last.Cause == AtLimit:
		return Result{Status: StatusAtLimit}, nil
	}
	r := Result{Status: last.Number}
	if sig := syscall.Signal(last.Number - 128); last.Killed && slices.Contains(passedOn, os.Signal(sig)) {
		r.Signal = sig
	}
	return r, nil
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
	return &failure.Error{Status: 71, Text: "cannot run the command with a limit: " + err.Error(), Cause: err}
}

func (c Command) name() string { return c.Argv[0] }

// Remark says what a report tells, if it is one for the user.
func (c Command) Remark(m Message) {
	who := "process " + strconv.Itoa(max(m.Number, -m.Number))
	if m.Text != "" && m.Text != "-" {
		who += " (" + strings.TrimSpace(m.Text) + ")"
	}
	switch m.Kind {
	case Overrun:
		c.Tell(c.name() + " has run for " + strconv.FormatFloat(c.Rules.Limit.Seconds(), 'f', -1, 64) +
			" s and is stopped")
	case Leftover:
		c.TellVerbose(c.name() + " has left " + who + " behind, which is ended")
	case Killing:
		c.Tell(who + " does not end and is killed")
	case Unkillable:
		c.Tell(who + " may not be ended: waiting for it")
	}
}
