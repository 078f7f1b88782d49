//go:build unix

package guard

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/command"
	"example.org/flock/internal/cstart"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/sys"
	"example.org/flock/internal/termination"
)

// A runner is the process of a guard: it obeys orders, runs the command, and reports.
type runner struct {
	life    *life
	parent  int      // its process id
	stderr  int      // the descriptor that the command gets as that; -1: it has none
	argv    []string // of the command
	signals *termination.Signals
	socket  int      // to the parent
	orders  splitter // of what comes from it
	watch   watch    // over the children
	waker   waker
	line    []byte        // memory for a report
	bytes   []byte        // and for orders
	polled  []unix.PollFd // for the parent, children, the time, and newer contenders
}

// bellAt is the index, among the descriptors that are polled, of the bell of a ticket.
const bellAt = 3

// Begin must be called at the start of a program that has guards, by the first thread of the process. In a guard it
// does not return.
func Begin() {
	if len(os.Args) != 2 || os.Args[0] != Name {
		return
	}
	if os.Args[1] == leads {
		os.Exit(0)
	}
	number, isGuard := strings.CutPrefix(os.Args[1], option)
	if !isGuard {
		return
	}
	socket, _ := strconv.Atoi(number)
	if _, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_TYPE); err != nil {
		return // nobody who makes a guard has started this: it is an option that does not exist
	}
	beGuard(socket)
	os.Exit(0)
}

// beGuard does what a guard has to do, in a process that Start has started.
func beGuard(socket int) {
	unix.CloseOnExec(socket)
	signals, err := catchSignals()
	if err != nil || prepare() != nil {
		os.Exit(1) // its parent says that it is gone
	}
	setName(Name)
	r := &runner{signals: signals, socket: socket, bytes: make([]byte, 64<<10)}
	r.life = newLife(r.report)
	r.run()
}

// uncaught are signals that nobody can catch, those that come of faults of this program, and one that the Go runtime
// sends to itself.
var uncaught = []syscall.Signal{unix.SIGKILL, unix.SIGSTOP, unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGBUS,
	unix.SIGFPE, unix.SIGSEGV, unix.SIGSYS, unix.SIGURG}

// catchSignals keeps signals to the process group, such as those from the terminal, from ending the guard. The command
// would inherit it if they were ignored, as some may be. On macOS even to ask for the dispositions of SIGKILL and
// SIGSTOP is an error (sigaction of XNU, bsd/kern/kern_sig.c). SIGCHLD must not be ignored, or nobody would be told how
// the command has ended.
func catchSignals() (*termination.Signals, error) {
	var list []syscall.Signal
	for s := syscall.Signal(1); s < 32; s++ {
		if !slices.Contains(uncaught, s) && (s == unix.SIGCHLD || !cstart.Ignored(s)) {
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
	for r.life.state != over {
		r.wait()
		if r.polled[0].Fd >= 0 && !r.obeyAll() {
			if r.life.state == ready {
				return
			}
			r.life.orphaned, r.polled[0].Fd = true, -1
		}
		r.life.lookForNewer()
		r.life.remains = r.life.family.remains(r.watch.reap(r.life))
		r.life.proceed()
	}
	if r.life.endsParentsStop {
		continueParent(r.parent)
	}
}

// open makes what the guard waits for.
func (r *runner) open() (ok bool) {
	waker, err := newWaker()
	pair, errOfPair := sys.Socketpair()
	if err != nil || errOfPair != nil {
		return false
	}
	r.waker, r.watch = waker, watch{pair[0], pair[1]}
	for _, fd := range []int{r.socket, r.watch.fd, r.waker.fd, -1} {
		r.polled = append(r.polled, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
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
	timeout := r.waker.set(r.life.nextTime())
	unix.Poll(r.polled, timeout)
	if r.polled[bellAt].Revents != 0 {
		locks.Hear(int(r.polled[bellAt].Fd))
		r.life.newerAt = 0
	}
}

func isReadable(fd int) bool {
	p := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, _ := unix.Poll(p[:], 0)
	return n > 0
}

// obeyAll obeys the orders that are there, in their order, and reports whether more can come. If this process was
// stopped or starved there are many. Then the newest deadlines, and an Abort, count from the first one on: the lock was
// kept meanwhile, or it is lost already.
func (r *runner) obeyAll() (open bool) {
	r.orders.add(nil) // drops what was obeyed
	for open = true; open && isReadable(r.socket); {
		n, _ := sys.Read(r.socket, r.bytes)
		open = n > 0
		r.orders.add(r.bytes[:max(n, 0)])
	}
	for m, ok := r.orders.next(); ok; m, ok = r.orders.next() {
		r.life.foresee(m)
	}
	r.orders.at = 0
	for m, ok := r.orders.next(); ok; m, ok = r.orders.next() {
		r.obey(m)
	}
	return open
}

func (r *runner) obey(m Message) {
	l := r.life
	switch m.Kind {
	case Parent:
		r.parent = m.Number
	case Stderr:
		r.stderr = m.Number
		unix.CloseOnExec(r.stderr)
	case ForGuard:
		unix.CloseOnExec(m.Number)
		if m.Number == 2 {
			r.stderr = -1
		}
	case Words:
		r.argv = strings.Split(m.Text, "\x00")
	case Run:
		if l.state == ready {
			l.rules = m.Rules
			if ticket := l.rules.Ticket; ticket.Number != 0 {
				r.polled[bellAt].Fd, l.newerAt = int32(ticket.MakeBell()), 0
			}
			r.start(m.Token)
		}
	case Signal:
		l.passOn(syscall.Signal(m.Number), m.Terminal)
	}
}

// start starts the command, unless it is too late.
func (r *runner) start(token int64) {
	r.life.lookForNewer()
	switch {
	case r.life.aborted, Now() >= r.life.deadlines.Term:
		r.life.cause = Lost
	case r.life.replaced:
		r.life.cause = Replaced
	}
	if r.life.cause != NoCause {
		r.life.finish(0)
		return
	}
	if token != 0 {
		cstart.Setenv(TokenVariable, strconv.FormatInt(token, 10))
	}
	r.watch.tellThread() // the start begins
	pid, err := r.startInGroup()
	if err != nil {
		r.failToStart(err)
		return
	}
	r.life.family.command = pid
	unix.Setsid() // keeps the guard out of what is sent to the whole group or session later on
	r.life.begin(r.fromTerminal())
	r.watch.tellThread() // the start is over
}

// fromTerminal returns what the terminal has sent to the process group until this process has left it.
func (r *runner) fromTerminal() (list []syscall.Signal) {
	for sig, is := r.signals.Next(); sig != 0; sig, is = r.signals.Next() {
		if is {
			list = append(list, sig)
		}
	}
	return list
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
	if session, _ := unix.Getsid(0); terminal >= 0 && session != os.Getppid() {
		return command.Start(r.argv, attributes, r.stderr)
	}
	leader, err := newGroup(terminal)
	if err != nil {
		return 0, command.NotForked(err)
	}
	defer reap(leader)
	r.life.family.group = leader
	attr := attributes
	attr.Setpgid, attr.Pgid = true, leader
	return command.Start(r.argv, attr, r.stderr)
}

// newGroup makes a process group, and gives it the terminal, unless that is -1: see startLeader. It does so again if
// somebody has killed the leader before.
func newGroup(terminal int) (leader int, err error) {
	for {
		leader, err := startLeader(terminal)
		if err != nil {
			return 0, err
		}
		if group, _ := unix.Getpgid(leader); group == leader {
			return leader, nil
		}
		reap(leader)
	}
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
			r.life.family.continueAll()
		}
	}
	r.watch.await() // the start is over
}

// failToStart reports why the command cannot be started.
func (r *runner) failToStart(err error) {
	var failed *failure.Error
	errors.As(err, &failed)
	var start *command.StartError
	errno := syscall.Errno(0)
	if errors.As(err, &start) {
		errors.As(start.Err, &errno)
	}
	r.life.state = over
	text := failed.Text[:min(len(failed.Text), 8<<10)]
	r.report(Message{Kind: Ended, Text: text, Number: failed.Status, Errno: errno})
}

func (r *runner) report(m Message) {
	r.line = m.appendTo(r.line[:0])
	send(r.socket, r.line)
}
