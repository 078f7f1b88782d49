//go:build unix

// Package guard runs a command that may live only until a deadline, which is moved on again and again. When the
// deadline comes, or whoever moved it is gone, the command gets SIGTERM and then, with all its descendants, SIGKILL.
//
// The command is the child of a process of its own, the guard, because the process that moves the deadline may be
// stopped, starved or killed:
//
//	flock-etcd          moves the deadline
//	  └─ guard          in a session of its own; orphaned descendants of the command become its children (Linux)
//	     └─ command     the kernel kills it when the guard dies (Linux)
//
// On Linux timers of the kernel continue the first two when they have something to do, should they be stopped, and kill
// flock-etcd at Limits.End. They do not kill the guard: when a frozen container goes on, or the machine wakes, somebody
// must be there to kill the rest. Elsewhere only the command's process group is killed; the build tag guard_portable
// tries that on Linux.
//
// Every family of systems defines:
//
//	clock, alarm  a clock that goes on while the machine sleeps (Linux), and a signal at a time on it
//	prepare       see the function of Linux
//	attributes    of the command
//	killAll       kills the command with its descendants or, elsewhere, with its process group
package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/command"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/sys"
)

// Now reads the clock of the limits.
func Now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic(err) // every supported system has this clock
	}
	return time.Duration(t.Nano())
}

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

	Started // the command runs: Number is its process id or, negative, that of its process group
	Ended   // the command has ended with the status Number and, if it was Terminated, all its descendants; or it could
	// not be started: Text. It is the last report.
)

// A Message goes to the guard or comes from it.
type Message struct {
	Kind   Kind
	Limits Limits
	Token  int64 // of the lock; 0: none
	Number int   // a status is 128 plus the number of the signal that killed the command
	Killed bool  // there was one
	Text   string

	Terminated bool // it has got SIGTERM, because of the limit or because of Abort
	Survivor   int  // a process that may not be killed, such as one of another user; 0: none
}

// TokenVariable is set in the environment of an exclusive holder's command, to a number that grows from holder to
// holder.
const TokenVariable = "FLOCK_TOKEN"

// A Guard is the process that runs the command, as flock-etcd sees it.
type Guard struct {
	Reports <-chan Message // closed when the guard is gone

	pid        int // of the guard
	socket     *os.File
	end        syscall.WaitStatus // of the guard, when it is gone
	command    int                // see Started; 0: it does not run
	wake, kill alarm              // for this process, which may be stopped
}

// option stands first in the words with which flock-etcd starts itself as a guard. Its value is the number of a socket.
const option = "--guard="

// Start makes the guard of a command, which does not run yet.
func Start(argv []string) (*Guard, error) {
	err := prepare("")
	if err != nil {
		return nil, err
	}
	g := &Guard{}
	if g.wake, err = newAlarm(unix.SIGCONT); err == nil {
		g.kill, err = newAlarm(unix.SIGKILL)
	}
	if err != nil {
		return nil, errors.New("cannot make a timer: " + sys.Text(err))
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, errors.New("cannot make a socket: " + sys.Text(err))
	}
	// The guard keeps the number of its end. The command inherits whatever other descriptors this process did.
	unix.CloseOnExec(pair[0])
	g.pid, err = command.StartSelf(append([]string{os.Args[0], option + strconv.Itoa(pair[1])}, argv...))
	unix.Close(pair[1])
	if err != nil {
		unix.Close(pair[0])
		return nil, err
	}
	reports := make(chan Message)
	g.Reports, g.socket = reports, os.NewFile(uintptr(pair[0]), "guard")
	go func() {
		defer close(reports)
		for from := json.NewDecoder(g.socket); ; {
			var m Message
			if from.Decode(&m) != nil {
				break
			}
			if m.Kind == Started {
				g.command = m.Number
			}
			reports <- m
		}
		syscall.Wait4(g.pid, &g.end, 0, nil)
	}()
	return g, nil
}

// KilledBy returns the signal that the guard died by, when the Reports are closed; 0: none.
func (g *Guard) KilledBy() syscall.Signal { return max(g.end.Signal(), 0) } // -1: none

// Give gives an order. New limits are for this process, too.
func (g *Guard) Give(m Message) {
	if m.Limits != (Limits{}) {
		g.wake.set(m.Limits.Kill)
		g.kill.set(m.Limits.End)
	}
	send(int(g.socket.Fd()), m)
	if m.Kind == Abort {
		unix.Kill(g.pid, unix.SIGCONT)
	}
}

// Close ends the guard of a command that does not run, or has ended, and the watch over this process.
func (g *Guard) Close() {
	g.wake.set(0)
	g.kill.set(0)
	unix.Shutdown(int(g.socket.Fd()), unix.SHUT_RDWR)
}

// KillAll kills the guard, if it is still there, and what it leaves behind. It returns a process that may not be
// killed, or is not dead after a second, if there is one. The kernel continues this process if it is stopped meanwhile.
func (g *Guard) KillAll() (survivor int) {
	g.Close()
	g.socket.Close() // its descriptor may be the only one that is free to look for children
	return killAll(g.command, Now()+time.Second, func(int, syscall.WaitStatus) {})
}

// send sends a message, or drops it if the receiver is gone.
func send(socket int, m Message) {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // no message has what cannot be written
	}
	unix.Write(socket, append(b, '\n'))
}

// guard is the guard itself.
type guard struct {
	argv    []string
	limits  Limits
	alarm   alarm
	changed chan os.Signal // a child has ended, or the time of the alarm has come
	socket  int

	pid        int  // of the command, while it lives
	grouped    bool // it has a process group of its own
	started    bool
	terminated bool
	ended      bool
	status     int
	killed     bool // by a signal
}

// The guard begins and ends in the initialization of this package, before most of what flock-etcd needs is initialized.
func init() {
	runtime.LockOSThread() // main goes on in the first thread of the process, which then has its children: see children
	if len(os.Args) > 2 && strings.HasPrefix(os.Args[1], option) {
		socket, _ := strconv.Atoi(strings.TrimPrefix(os.Args[1], option))
		if _, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_TYPE); err != nil {
			return // nobody who makes a guard: it is an option that does not exist
		}
		unix.CloseOnExec(socket)
		g := &guard{argv: os.Args[2:], changed: make(chan os.Signal, 1), socket: socket}
		g.catchSignals()
		prepare("flock-guard")
		var err error
		if g.alarm, err = newAlarm(unix.SIGCONT); err == nil {
			g.run()
		}
		os.Exit(0)
	}
}

// catchSignals keeps signals to the process group, such as those from the terminal, from ending the guard. The command
// would inherit it if they were ignored, as some may be.
func (g *guard) catchSignals() {
	for s := syscall.Signal(1); s < 32; s++ {
		if !signal.Ignored(s) || s == unix.SIGCHLD {
			signal.Notify(g.changed, s)
		}
	}
}

// run is the life of a guard. It returns when the command has ended.
func (g *guard) run() {
	readable := make(chan struct{})
	go func() {
		for fds := []unix.PollFd{{Fd: int32(g.socket), Events: unix.POLLIN}}; ; readable <- struct{}{} {
			unix.Poll(fds, -1)
		}
	}()
	for !g.ended {
		select {
		case <-readable:
		case <-g.changed:
		}
		// All orders come first: if this process was stopped, there may be later ones with later limits.
		if readable != nil && !g.obeyAll() {
			if !g.started {
				return
			}
			readable = nil
			g.terminate() // nobody moves the deadline any more
		}
		reapChildren(g.noteEnd)
		g.enforce()
	}
}

// obeyAll obeys the orders that are there, and reports whether more can come.
func (g *guard) obeyAll() (open bool) {
	b := make([]byte, 64<<10) // more than can wait in a socket
	n, _, err := unix.Recvfrom(g.socket, b, unix.MSG_DONTWAIT)
	for order := range bytes.Lines(b[:max(n, 0)]) {
		var m Message
		json.Unmarshal(order, &m)
		g.obey(m)
	}
	return n > 0 || sys.Is(err, unix.EAGAIN, unix.EINTR)
}

func (g *guard) obey(m Message) {
	if m.Limits != (Limits{}) && !g.terminated {
		g.limits = m.Limits
	}
	switch {
	case m.Kind == Run:
		g.start(m.Token)
	case m.Kind == Abort:
		g.terminate()
		g.limits.Kill = Now()
	case m.Kind == Signal && g.alive() && (g.grouped || !slices.Contains(fromTerminal, syscall.Signal(m.Number))):
		unix.Kill(g.target(), syscall.Signal(m.Number))
	}
}

// fromTerminal are the signals that a terminal sends to the process group of flock-etcd: a command in it has them
// already.
var fromTerminal = []syscall.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGWINCH}

// start starts the command, unless it is too late.
func (g *guard) start(token int64) {
	if Now() >= g.limits.Term {
		g.terminated, g.ended = true, true
		send(g.socket, Message{Kind: Ended, Terminated: true})
		return
	}
	g.started = true
	env := os.Environ()
	if token != 0 {
		env = append(env, TokenVariable+"="+strconv.FormatInt(token, 10))
	}
	attr, terminal := g.place()
	defer unix.Close(terminal)
	pid, err := command.Start(g.argv, env, attr)
	if err != nil {
		g.ended = true
		var failed *failure.Error
		errors.As(err, &failed)
		send(g.socket, Message{Kind: Ended, Text: failed.Text[:min(len(failed.Text), 8<<10)], Number: failed.Status})
		return
	}
	g.pid = pid
	unix.Setsid() // keeps the guard out of what is sent to the whole group or session later on
	send(g.socket, Message{Kind: Started, Number: g.target()})
}

// place chooses the process group of the command: its own, so that signals reach all of it. On a terminal the command
// stays in the group of flock-etcd, with the job control that the shell has for that. Where flock-etcd leads the
// session, as in a container, there is no such shell, so the command's group gets the terminal.
func (g *guard) place() (attr syscall.SysProcAttr, terminal int) {
	attr = attributes
	terminal, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err == nil {
		session, _ := unix.Getsid(0)
		attr.Foreground, attr.Ctty = session == os.Getppid(), terminal
	}
	g.grouped = err != nil || attr.Foreground
	attr.Setpgid = g.grouped
	return attr, terminal
}

// target returns the process group of the command for kill(2), or the command alone if it has no group of its own.
func (g *guard) target() int {
	if g.grouped {
		return -g.pid
	}
	return g.pid
}

// terminate sends SIGTERM. A stopped process gets it when it goes on.
func (g *guard) terminate() {
	if g.terminated || !g.alive() {
		return
	}
	g.terminated = true
	unix.Kill(g.target(), unix.SIGTERM)
	unix.Kill(g.target(), unix.SIGCONT)
}

// enforce does what is due, and sets the timer for what is next. What the command leaves behind at its end in good time
// is not under the lock and lives on.
func (g *guard) enforce() {
	if !g.started || g.ended {
		return
	}
	if Now() >= g.limits.Term {
		g.terminate()
	}
	survivor := 0
	if g.terminated && (!g.alive() || Now() >= g.limits.Kill) {
		survivor = killAll(g.target(), math.MaxInt64, g.noteEnd)
	}
	if !g.alive() || survivor != 0 {
		g.ended = true
		send(g.socket, Message{Kind: Ended, Number: g.status, Killed: g.killed, Terminated: g.terminated,
			Survivor: survivor})
		return
	}
	next := g.limits.Term
	if g.terminated {
		next = g.limits.Kill
	}
	g.alarm.set(next)
}

// alive reports whether the command runs.
func (g *guard) alive() bool { return g.pid != 0 }

// noteEnd takes note that a child has ended.
func (g *guard) noteEnd(pid int, w syscall.WaitStatus) {
	if pid != g.pid {
		return
	}
	g.pid, g.status, g.killed = 0, w.ExitStatus(), w.Signaled()
	if g.killed {
		g.status = 128 + int(w.Signal())
	}
}

// reapChildren reaps the children that have ended, and reports whether there are others.
func reapChildren(ended func(pid int, w syscall.WaitStatus)) (more bool) {
	for {
		var w syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &w, syscall.WNOHANG, nil)
		switch {
		case err == unix.EINTR:
		case pid <= 0:
			return err == nil
		default:
			ended(pid, w)
		}
	}
}
