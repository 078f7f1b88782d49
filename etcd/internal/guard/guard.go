//go:build unix

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
//	Guard            give, Kill, KilledBy, KillOrphans, Close
//	guard            wait, moved, send, attributes, leaveSession, signal, reap, kill
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

// An order goes to the guard.
type order struct {
	Limits Limits // zero: no change
	Signal int32  // send this to the command; 0: none
	Run    bool   // start the command
	Token  int64  // for Run: the value of TokenVariable; 0: none
	Abort  bool   // the lock is lost: kill everything now
}

// TokenVariable is set in the environment of an exclusive holder's command, to a number that grows from holder to holder.
const TokenVariable = "FLOCK_TOKEN"

// Move moves the deadline.
func (g *Guard) Move(l Limits) { g.give(order{Limits: l}) }

// Run starts the command with a token in its environment if that is not 0.
func (g *Guard) Run(l Limits, token int64) { g.give(order{Limits: l, Run: true, Token: token}) }

// Signal sends a signal to the command.
func (g *Guard) Signal(s syscall.Signal) { g.give(order{Signal: int32(s)}) }

// Abort has the command killed at once, with its descendants on Linux.
func (g *Guard) Abort() { g.give(order{Abort: true}) }

// A Report comes from the guard.
type Report struct {
	ReportHeader
	Failure string // why the command could not be started
}

// A ReportHeader is what a Report has a fixed size for.
type ReportHeader struct {
	Lacking    bool // the Failure is that the system lacks memory or processes
	Started    bool // the command runs
	Terminated bool // it has got SIGTERM, because of the limit or because of Abort
	Ended      bool // it has ended and, if it was Terminated, all its descendants; the last report

	Status   int32 // its exit status, 128 plus the number of the signal that killed it
	Survivor int32 // a descendant that may not be killed, such as one of another user
}

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
		o, open := g.wait(!isNew)
		if !open {
			g.terminate() // nobody moves the deadline any more
		}
		g.obey(o)
		g.reap()
		if isNew = open && o != (order{}); isNew {
			continue // if this process was stopped, later orders with later limits may be there
		}
		g.enforce()
		if g.ended || !open && !g.started {
			return
		}
	}
}

func (g *guard) obey(o order) {
	if o.Limits != (Limits{}) && !g.terminated {
		g.limits = o.Limits
		g.moved()
	}
	switch {
	case o.Run:
		g.start(o.Token)
	case o.Abort:
		g.terminate()
		g.limits.Kill = Now()
	case o.Signal != 0 && g.alive():
		g.signal(syscall.Signal(o.Signal))
	}
}

// start starts the command, unless it is too late.
func (g *guard) start(token int64) {
	if Now() >= g.limits.Term {
		g.terminated, g.ended = true, true
		g.send(Report{ReportHeader: ReportHeader{Terminated: true, Ended: true}})
		return
	}
	g.started = true
	// On a terminal the command stays in the process group of flock-etcd, with the job control that the shell has for it.
	g.grouped = !hasTerminal()
	env := os.Environ()
	if token != 0 {
		env = append(env, TokenVariable+"="+strconv.FormatInt(token, 10))
	}
	pid, err := command.Start(g.argv, env, g.attributes())
	if err != nil {
		g.ended = true
		var fork *command.ForkError
		text := err.Error()
		g.send(Report{ReportHeader{Lacking: errors.As(err, &fork) || sys.LacksMemory(err), Ended: true}, text[:min(len(text), 8<<10)]})
		return
	}
	g.pid = pid
	g.leaveSession()
	g.send(Report{ReportHeader: ReportHeader{Started: true}})
}

func hasTerminal() bool {
	fd, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err == nil
}

// terminate sends SIGTERM. A stopped process gets it when it goes on.
func (g *guard) terminate() {
	if g.terminated || !g.alive() {
		return
	}
	g.terminated = true
	g.signal(syscall.SIGTERM)
	g.signal(syscall.SIGCONT)
	g.send(Report{ReportHeader: ReportHeader{Terminated: true}})
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
		g.send(Report{ReportHeader: ReportHeader{Terminated: g.terminated, Ended: true, Status: int32(g.status), Survivor: int32(survivor)}})
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
