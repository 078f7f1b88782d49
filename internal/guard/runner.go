//go:build unix

package guard

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/command"
	"example.org/flock/internal/cstart"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/sys"
	"example.org/flock/internal/termination"
)

// A runner is the process of a guard: it obeys orders, runs the command, and reports.
type runner struct {
	*life
	hasBegun bool           // the command was started
	parent   int            // the process of flock that gives the orders
	stderr   int            // the descriptor that the command gets as that; -1: it has none
	argv     []string       // of the command; nil: there was no order to run
	token    int64          // of the lock
	early    syscall.Signal // one that came before the start, and ends the parent; 0: none
	signals  *termination.Signals
	socket   int            // to the parent
	orders   *os.File       // the same
	message  Message        // memory for one
	watch    watch          // over the children
	wake     timer          // continues this process when something is due, should it be stopped
	polled   [3]unix.PollFd // for the parent, children, and newer contenders
}

// bellAt is the index, among the descriptors that are polled, of the bell of a ticket.
const bellAt = 2

// Begin must be called at the start of a program that has guards, by the first thread of the process. In a guard it
// does not return.
func Begin() {
	if len(os.Args) != 2 || os.Args[0] != Name {
		return
	}
	if os.Args[1] == leads {
		os.Exit(0)
	}
	list, isGuard := strings.CutPrefix(os.Args[1], option)
	size, list, _ := strings.Cut(list, ",")
	var fds []int // see startProcess
	for number := range strings.SplitSeq(list, ",") {
		fd, _ := strconv.Atoi(number)
		fds = append(fds, fd)
	}
	if _, err := unix.GetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_TYPE); !isGuard || err != nil {
		return // nobody who makes a guard has started this: it is an option that does not exist
	}
	if size != strconv.Itoa(sizeOfMessage) {
		os.Exit(isOtherVersion)
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	beGuard(fds[0], fds[1])
	os.Exit(0)
}

// beGuard does what a guard has to do, in a process that Start has started.
func beGuard(socket, stderr int) {
	signals, err := catchSignals()
	if err != nil || Check() != nil {
		os.Exit(1) // its parent says that it is gone
	}
	setName(Name)
	r := &runner{signals: signals, socket: socket, orders: os.NewFile(uintptr(socket), "orders"), stderr: stderr}
	r.life = newLife(r.report)
	r.run()
}

// uncaught are signals that nobody can catch, those that come of faults of this program, and one that the Go runtime
// sends to itself.
var uncaught = []syscall.Signal{unix.SIGKILL, unix.SIGSTOP, unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGBUS,
	unix.SIGFPE, unix.SIGSEGV, unix.SIGSYS, unix.SIGURG}

// catchSignals keeps signals to the process group, such as those from the terminal, from ending the guard. The command
// would inherit it if they were ignored, as some may be. On macOS even to ask for the dispositions of SIGKILL and
// SIGSTOP is an error (sigaction of XNU, bsd/kern/kern_sig.c). Two must not be ignored: without SIGCHLD nobody would be
// told how the command has ended, and SIGCONT ends a wait whose time has come while the machine slept.
func catchSignals() (*termination.Signals, error) {
	var list []syscall.Signal
	for s := syscall.Signal(1); s < 32; s++ {
		if !slices.Contains(uncaught, s) && (s == unix.SIGCHLD || s == unix.SIGCONT || !cstart.Ignored(s)) {
			list = append(list, s)
		}
	}
	return termination.Listen(list)
}

// run obeys orders and does what is due, until the last report is sent.
func (r *runner) run() {
	if !r.open() {
		return
	}
	makeThreads()
	for !r.isOver {
		r.wait()
		r.obeyAll()
		r.lookForNewer()
		switch {
		case r.hasBegun:
			r.proceed(r.watch.reap(r.noteEnd))
		case r.argv != nil:
			r.start()
		case r.orphaned:
			return
		}
	}
	// It may be stopped. When a command ends by itself it stays so, as without a guard.
	if r.cause != NoCause && unix.Getppid() == r.parent {
		unix.Kill(r.parent, unix.SIGCONT)
	}
}

// open makes what the guard waits for.
func (r *runner) open() (ok bool) {
	wake, err := newTimer(unix.SIGCONT)
	pair, errOfPair := sys.Socketpair()
	if err != nil || errOfPair != nil {
		return false
	}
	r.wake, r.watch = wake, watch{pair[0], pair[1]}
	for i, fd := range []int{r.socket, r.watch.fd, -1} {
		r.polled[i] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	}
	runs := make(chan struct{})
	go func() {
		close(runs)
		r.awaitStart()
		r.watch.run()
	}()
	<-runs
	return true
}

// wait waits until a descriptor is readable, or something is due.
func (r *runner) wait() {
	at := r.nextTime()
	r.wake.set(at)
	pause := max(0, min(at-Now(), mostSleep)) + time.Millisecond // it is rounded down
	unix.Poll(r.polled[:], int(pause.Milliseconds()))
	if r.polled[bellAt].Revents != 0 {
		locks.Hear(int(r.polled[bellAt].Fd))
		r.newerAt = 0
	}
}

func isReadable(fd int) bool {
	p := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, _ := unix.Poll(p[:], 0)
	return n > 0
}

// obeyAll obeys the orders that are there. If this process was stopped or starved there are many. What is due is decided
// after them: the newest deadlines count, for the lock was kept meanwhile, and an Abort, for it is lost.
func (r *runner) obeyAll() {
	for !r.orphaned && isReadable(r.socket) {
		if !r.message.receive(r.orders) {
			r.orphaned, r.polled[0].Fd = true, -1
			return
		}
		r.obey(&r.message)
	}
}

func (r *runner) obey(m *Message) {
	isLost := r.cause == Lost || r.deadlines == Deadlines{} // see Abort
	if m.Deadlines != (Deadlines{}) && !isLost {
		r.deadlines = m.Deadlines
	}
	switch sig := syscall.Signal(m.Number); {
	case m.Kind == Run:
		r.rules, r.token, r.parent, r.argv = m.Rules, m.Token, m.Parent, strings.Split(m.Text, "\x00")
		if ticket := r.rules.Ticket; ticket.Number != 0 {
			r.polled[bellAt].Fd, r.newerAt = int32(ticket.MakeBell()), 0
		}
	case m.Kind == Abort:
		r.deadlines = Deadlines{} // all have come
	case m.Kind == Signal && r.hasBegun:
		r.passOn(sig, m.Terminal)
	case m.Kind == Signal:
		r.noteEarly(sig)
	}
}

// noteEarly takes note of a signal that comes before the command is started. It ends the parent then, as in a wait for
// the lock, unless it is one that ends nobody.
func (r *runner) noteEarly(sig syscall.Signal) {
	if sig != unix.SIGWINCH {
		r.early = sig
	}
}

// start starts the command, unless it is too late, or a signal ends the parent.
func (r *runner) start() {
	r.fromTerminal(r.noteEarly)
	r.cause, r.end = r.dueCause(Now()), syscall.WaitStatus(r.early)
	if r.cause != NoCause || r.early != 0 {
		r.finish(0)
		return
	}
	if r.token != 0 {
		cstart.Setenv(TokenVariable, strconv.FormatInt(r.token, 10))
	}
	r.watch.tellThread() // the start begins
	pid, err := r.startInGroup()
	if err != nil {
		r.failToStart(err)
		return
	}
	r.hasBegun = true
	r.begin(pid)
	if r.family.group == 0 { // some may not have been there when it came; others get it again
		r.fromTerminal(r.family.sendAll)
	}
	r.watch.tellThread() // the start is over
}

// fromTerminal calls do with each signal that the terminal has sent to the process group of this process.
func (r *runner) fromTerminal(do func(syscall.Signal)) {
	for sig, is := r.signals.Next(); sig != 0; sig, is = r.signals.Next() {
		if is {
			do(sig)
		}
	}
}

// startInGroup starts the command in a process group of its own, so that signals reach all of it. On a terminal it
// stays in the group of the guard's parent, with the job control that the shell has for that. Where the parent leads
// the session, as in a container, there is no such shell: there the command's own group gets the terminal.
func (r *runner) startInGroup() (pid int, err error) {
	terminal, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		terminal = -1
	} else {
		defer unix.Close(terminal)
	}
	attr := attributes
	if session, _ := unix.Getsid(0); terminal < 0 || session == os.Getppid() {
		leader, err := startLeader()
		if err != nil {
			return 0, command.NotForked(err)
		}
		defer reap(leader)
		r.family.group = leader
		attr.Setpgid, attr.Pgid = true, leader
		attr.Foreground, attr.Ctty = terminal >= 0, max(terminal, 0)
	}
	pid, err = command.Start(r.argv, attr, r.stderr)
	unix.Setsid()        // keeps the guard out of what is sent to the whole group or session later on
	if attr.Foreground { // a Ctrl-Z before that has stopped the command, and no shell continues it
		unix.Kill(-attr.Pgid, unix.SIGCONT)
	}
	return pid, err
}

// reap waits for the end of a child.
func reap(pid int) (end syscall.WaitStatus) {
	sys.Wait4(pid, &end, 0)
	return end
}

// A watch tells of children that have ended, by a descriptor. A thread of its own waits for them: SIGCHLD would go to
// any thread, and what a Go program does about a signal may need a new one.
//
// It waits for bytes of the guard, too. They all look the same: what one means follows from what it waits for.
type watch struct{ fd, thread int } // the two ends of a socket

func (w watch) tellThread() { unix.Write(w.fd, []byte{0}) }

// await waits, in the thread, for a byte of the guard.
func (w watch) await() { unix.Read(w.thread, make([]byte, 1)) }

// awaitStart waits until the command has started. The child that is to become it may be stopped just before. It is
// continued, for the guard waits for it and can do nothing else meanwhile.
func (r *runner) awaitStart() {
	r.watch.await() // the start begins
	fds := []unix.PollFd{{Fd: int32(r.watch.thread), Events: unix.POLLIN}}
	for n := 0; n <= 0; {
		if n, _ = unix.Poll(fds, 50); n == 0 {
			r.family.continueAll()
		}
	}
	r.watch.await() // the start is over
}

// failToStart reports why the command cannot be started.
func (r *runner) failToStart(err error) {
	m := Message{Kind: Failed}
	errors.As(err, &m.Errno)
	var start *command.StartError
	m.Forked = errors.As(err, &start)
	r.isOver = true
	r.report(m)
}

func (r *runner) report(m Message) {
	r.message = m
	r.message.send(r.socket)
}
