//go:build unix && !aix

// Package guard runs a command that may live only until a deadline, which is moved on again and again. When the deadline
// comes, or whoever moved it is gone, the command gets SIGTERM and then, with all its descendants, SIGKILL.
//
// On Linux the command is the child of a process of its own, the guard, because the process that moves the deadline may be
// stopped, starved or killed:
//
//	flock-etcd          moves the deadline
//	  └─ guard          in a session of its own; orphaned descendants of the command become its children
//	     └─ command     the kernel kills it when the guard dies
//
// Timers of the kernel continue the first two at Limits.Kill, should they be stopped, and kill flock-etcd at Limits.End.
// They do not kill the guard: when a frozen container goes on, or the machine wakes, somebody must be there to kill the
// rest.
//
// Elsewhere the guard is a goroutine, and only the command's process group is killed. The build tag guard_goroutine tries
// that on Linux.
//
// Every family of systems defines:
//
//	Now()            the clock of the limits, which goes on while the machine sleeps (Linux)
//	Start(argv)      makes the guard of a command, which does not run yet
//	timer            fires at a time on the clock of Now
//	Guard            Give, Kill, KilledBy, KillOrphans, Close
//	guard            wait, moved, send, attributes, caller, leaveSession, reap, kill
package guard

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/command"
	"example.org/flock/internal/sys"
)

// Limits are times on the clock of Now.
type Limits struct {
	Term time.Duration // the command gets SIGTERM
	Kill time.Duration // it and all its descendants get SIGKILL
	End  time.Duration // the kernel kills flock-etcd, if it is still there
}

// A Kind is that of a message: the first are orders to the guard, the last its reports.
type Kind int

const (
	Run    Kind = iota + 1 // start the command, which may run within Limits, with Token
	Move                   // new Limits
	Signal                 // send the signal Number to the command
	Abort                  // the lock is lost: kill everything now

	Started // the command runs
	Failed  // the command could not be started: Text; the last report
	Ended   // the command has ended with the status Number and, if it was Terminated, all its descendants; the last report
)

// A Message goes to the guard or comes from it.
type Message struct {
	Kind   Kind
	Limits Limits
	Token  int64 // of the lock; 0: none
	Number int   // a status is 128 plus the number of the signal that killed the command
	Text   string

	Lacking    bool // it Failed because the system lacks memory or processes
	Terminated bool // it has got SIGTERM, because of the limit or because of Abort
	Survivor   int  // a process that may not be killed, such as one of another user; 0: none
}

// TokenVariable is set in the environment of an exclusive holder's command, to a number that grows from holder to holder.
const TokenVariable = "FLOCK_TOKEN"

// state is what every guard knows.
type state struct {
	argv   []string
	limits Limits
	timer  timer

	pid        int  // of the command, while it lives
	grouped    bool // it has a process group of its own
	started    bool
	terminated bool
	ended      bool
	status     int
}

// run is the life of a guard. It returns when the command has ended.
func (g *guard) run() {
	for isNew := false; ; {
		m, open := g.wait(!isNew)
		if !open {
			g.terminate() // nobody moves the deadline any more
		}
		g.obey(m)
		g.reap()
		if isNew = open && m.Kind != 0; isNew {
			continue // if this process was stopped, later orders with later limits may be there
		}
		g.enforce()
		if g.ended || !open && !g.started {
			return
		}
	}
}

func (g *guard) obey(m Message) {
	if m.Limits != (Limits{}) && !g.terminated {
		g.limits = m.Limits
		g.moved()
	}
	switch {
	case m.Kind == Run:
		g.start(m.Token)
	case m.Kind == Abort:
		g.terminate()
		g.limits.Kill = Now()
	case m.Kind == Signal && g.alive():
		g.signal(syscall.Signal(m.Number))
	}
}

// start starts the command, unless it is too late.
func (g *guard) start(token int64) {
	if Now() >= g.limits.Term {
		g.terminated, g.ended = true, true
		g.send(Message{Kind: Ended, Terminated: true})
		return
	}
	g.started = true
	env := os.Environ()
	if token != 0 {
		env = append(env, TokenVariable+"="+strconv.FormatInt(token, 10))
	}
	attributes, done := g.place()
	defer done()
	pid, err := command.Start(g.argv, env, attributes)
	if err != nil {
		g.ended = true
		var fork *command.ForkError
		text := err.Error()
		g.send(Message{Kind: Failed, Text: text[:min(len(text), 8<<10)], Lacking: errors.As(err, &fork) || sys.LacksMemory(err)})
		return
	}
	g.pid = pid
	g.leaveSession()
	g.send(Message{Kind: Started})
}

// place chooses the process group of the command: its own, so that signals reach all of it. On a terminal the command stays
// in the group of flock-etcd, with the job control that the shell has for that. Where flock-etcd leads the session, as in a
// container, there is no such shell, so the command's group gets the terminal.
func (g *guard) place() (attributes syscall.SysProcAttr, done func()) {
	attributes, done = g.attributes(), func() {}
	terminal, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err == nil {
		done = func() { unix.Close(terminal) }
		session, _ := unix.Getsid(0)
		attributes.Foreground, attributes.Ctty = session == g.caller(), terminal
	}
	g.grouped = err != nil || attributes.Foreground
	attributes.Setpgid = g.grouped
	return attributes, done
}

// signal sends a signal to the process group of the command, or to the command alone if that has none of its own.
func (g *guard) signal(s syscall.Signal) {
	if g.grouped {
		unix.Kill(-g.pid, s)
	} else {
		unix.Kill(g.pid, s)
	}
}

// terminate sends SIGTERM. A stopped process gets it when it goes on.
func (g *guard) terminate() {
	if g.terminated || !g.alive() {
		return
	}
	g.terminated = true
	g.signal(syscall.SIGTERM)
	g.signal(syscall.SIGCONT)
}

// enforce does what is due, and sets the timer for what is next. What the command leaves behind at its end in good time is
// not under the lock and lives on.
func (g *guard) enforce() {
	if !g.started || g.ended {
		return
	}
	if Now() >= g.limits.Term {
		g.terminate()
	}
	survivor := 0
	if g.terminated && (!g.alive() || Now() >= g.limits.Kill) {
		survivor = g.kill()
	}
	if !g.alive() || survivor != 0 {
		g.ended = true
		g.send(Message{Kind: Ended, Number: g.status, Terminated: g.terminated, Survivor: survivor})
		return
	}
	next := g.limits.Term
	if g.terminated {
		next = g.limits.Kill
	}
	g.timer.set(next)
}

// alive reports whether the command runs.
func (g *guard) alive() bool { return g.pid != 0 }

// noteEnd takes note that a child has ended.
func (g *guard) noteEnd(pid int, w syscall.WaitStatus) {
	if pid != g.pid {
		return
	}
	g.pid, g.status = 0, w.ExitStatus()
	if w.Signaled() {
		g.status = 128 + int(w.Signal())
	}
}
