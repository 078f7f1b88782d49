//go:build unix

package guard

import (
	"errors"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/command"
	"example.org/flock/internal/cstart"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

// guard is the guard itself.
type guard struct {
	argv    []string
	socket  int
	orders  splitter
	limits  Limits
	rules   Rules
	alarm   alarm
	changed chan os.Signal // a child has ended, or the time of the alarm has come

	pid      int            // of the command, while it lives
	leader   int            // its process group, if it has one of its own
	limitAt  time.Duration  // when its limit is reached
	heard    syscall.Signal // the last signal that came here while it lived
	diedOf   syscall.Signal // the one that it died of and that has not come here yet
	started  bool
	finished bool // the last report is sent
	status   int
	killed   bool // by a signal

	ending  bool // everybody gets SIGTERM
	cause   Cause
	killAt  time.Duration // and then SIGKILL
	asked   map[process]bool
	killing map[process]bool
	barred  map[process]bool // those that may not be ended
	told    map[Kind]int     // how many lines
}

// Begin is to be called at the start of a program that has guards, by the first thread of the process. If the process
// is a guard, it does not return.
func Begin() {
	if len(os.Args) != 2 || os.Args[0] != Name || !strings.HasPrefix(os.Args[1], option) {
		return
	}
	socket, _ := strconv.Atoi(strings.TrimPrefix(os.Args[1], option))
	if _, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_TYPE); err != nil {
		return // nobody who makes a guard: it is an option that does not exist
	}
	unix.CloseOnExec(socket)
	g := &guard{socket: socket, changed: make(chan os.Signal, 1), limits: Unlimited,
		limitAt: never, asked: map[process]bool{}, killing: map[process]bool{}, barred: map[process]bool{},
		told: map[Kind]int{}}
	g.catchSignals()
	prepare()
	setName(Name)
	words := receiveWords(socket)
	var err error
	if g.alarm, err = newAlarm(unix.SIGCONT); err == nil && len(words) > 1 {
		for _, word := range strings.Fields(words[0]) {
			fd, _ := strconv.Atoi(word)
			unix.CloseOnExec(fd)
		}
		g.argv = words[1:]
		g.run()
	}
	os.Exit(0)
}

// catchSignals keeps signals to the process group, such as those from the terminal, from ending the guard. The command
// would inherit it if they were ignored, as some may be. Nobody can catch SIGKILL and SIGSTOP, and on macOS even to ask
// for their dispositions is an error (sigaction of XNU, bsd/kern/kern_sig.c). The Go runtime sends SIGURG to itself.
func (g *guard) catchSignals() {
	for s := syscall.Signal(1); s < 32; s++ {
		switch {
		case s == unix.SIGKILL, s == unix.SIGSTOP, s == unix.SIGURG:
		case !cstart.Ignored(s), s == unix.SIGCHLD:
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
	for !g.finished {
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
			g.endOrphans()
		}
		more := reapChildren(g.noteEnd)
		g.enforce(more)
	}
}

// obeyAll obeys the orders that are there, and reports whether more can come.
func (g *guard) obeyAll() (open bool) {
	b := make([]byte, 64<<10)
	for {
		n, _, err := unix.Recvfrom(g.socket, b, unix.MSG_DONTWAIT)
		if n <= 0 {
			return sys.Is(err, unix.EAGAIN, unix.EINTR)
		}
		for _, m := range g.orders.add(b[:n]) {
			g.obey(m)
		}
	}
}

func (g *guard) obey(m Message) {
	if m.Limits != (Limits{}) && g.cause != Lost {
		g.limits = m.Limits
	}
	switch m.Kind {
	case Run:
		g.rules = m.Rules
		g.start(m.Token)
	case Abort:
		g.lose()
		g.killAt = Now()
	case Signal:
		g.passOn(syscall.Signal(m.Number), m.Terminal)
	}
}

// passOn sends a signal to the command, unless it came from the terminal and the command is in the process group of the
// guard's parent: then it has the signal already. When the command has ended the signal is for what is left. But if
// the command has died of the same one, which has not come here yet, a terminal or a service manager has sent it to all
// of them: then it is too late.
func (g *guard) passOn(s syscall.Signal, fromTerminal bool) {
	switch {
	case g.alive():
		g.heard = s
		if g.leader != 0 || !fromTerminal {
			unix.Kill(g.target(), s)
		}
	case s == g.diedOf:
		g.diedOf = 0
	case g.ending && s != unix.SIGWINCH:
		g.killAt = Now()
	}
}

// start starts the command, unless it is too late.
func (g *guard) start(token int64) {
	if Now() >= g.limits.Term {
		g.cause = Lost
		g.finish(Message{})
		return
	}
	g.started = true
	if token != 0 {
		cstart.Setenv(TokenVariable, strconv.FormatInt(token, 10))
	}
	attr, terminal := g.place()
	defer unix.Close(terminal)
	pid, err := command.Start(g.argv, attr)
	if err != nil {
		var failed *failure.Error
		errors.As(err, &failed)
		text := failed.Text[:min(len(failed.Text), 8<<10)]
		var start *command.StartError
		errno := syscall.Errno(0)
		if errors.As(err, &start) {
			errors.As(start.Err, &errno)
		}
		g.finish(Message{Text: text, Number: failed.Status, Errno: errno})
		return
	}
	g.pid = pid
	if attr.Setpgid {
		g.leader = pid
	}
	if g.rules.Limit > 0 && g.rules.Limit < never-Now() {
		g.limitAt = Now() + g.rules.Limit
	}
	unix.Setsid() // keeps the guard out of what is sent to the whole group or session later on
	g.report(Message{Kind: Started, Number: g.target()})
}

// place chooses the process group of the command: its own, so that signals reach all of it. On a terminal the command
// stays in the group of the guard's parent, with the job control that the shell has for that. Where that leads the
// session, as in a container, there is no such shell, so the command's group gets the terminal.
func (g *guard) place() (attr syscall.SysProcAttr, terminal int) {
	attr = attributes
	terminal, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err == nil {
		session, _ := unix.Getsid(0)
		attr.Foreground, attr.Ctty = session == os.Getppid(), terminal
	}
	attr.Setpgid = err != nil || attr.Foreground
	return attr, terminal
}

// target returns the process group of the command for kill(2), or the command alone if it has no group of its own; 0 if
// that has ended.
func (g *guard) target() int {
	if g.leader != 0 {
		return -g.leader
	}
	return g.pid
}

func (g *guard) report(m Message) { send(g.socket, m.encode()) }

// finish sends the last report.
func (g *guard) finish(m Message) {
	m.Kind, m.Cause, g.finished = Ended, g.cause, true
	g.report(m)
}

// endOrphans ends everybody because nobody gives orders any more.
func (g *guard) endOrphans() {
	if g.rules.Supervised {
		g.end(g.cause, grace)
	} else {
		g.lose()
	}
}

// lose ends everybody because the lock is lost, or will be before anybody says otherwise.
func (g *guard) lose() {
	if !g.started || g.cause == Lost {
		return
	}
	g.end(Lost, never)
}

// end begins to end everybody, unless that has begun. SIGKILL comes after that time, or when the lock is lost.
func (g *guard) end(why Cause, after time.Duration) {
	if why != ByItself {
		g.cause = why
	}
	if !g.ending {
		g.ending, g.killAt = true, never
		if after < never {
			g.killAt = Now() + after
		}
	}
}

// enforce does what is due, and sets the timer for what is next. more says that there are children. What the command
// leaves behind at its end in good time lives on, unless the rules say otherwise.
func (g *guard) enforce(more bool) {
	if !g.started || g.finished {
		return
	}
	switch {
	case !g.alive() && !g.ending:
		if !g.rules.Leftovers || !remain(g.target(), more) {
			g.finish(Message{Number: g.status, Killed: g.killed})
			return
		}
		g.end(ByItself, grace)
	case Now() >= g.limits.Term:
		g.lose()
	case Now() >= g.limitAt && !g.ending:
		g.end(AtLimit, grace)
		g.report(Message{Kind: Overrun})
	}
	if !g.ending {
		g.alarm.set(min(g.limits.Term, g.limitAt))
		return
	}
	if !g.alive() && !remain(g.target(), more) {
		g.finish(Message{Number: g.status, Killed: g.killed})
		return
	}
	g.endMembers()
}

// endMembers sends each descendant the signal that is due, and sets the timer to look again.
func (g *guard) endMembers() {
	pause := 25 * time.Millisecond
	if isLate := g.cause == Lost && !g.alive(); !isLate && Now() < min(g.killAt, g.limits.Kill) {
		for _, p := range members(g.target()) {
			g.ask(p)
		}
		g.alarm.set(min(Now()+pause, g.killAt, g.limits.Kill))
		return
	}
	survivor, isNew := 0, true
	for isNew { // until nobody has come meanwhile
		isNew, survivor = g.killMembers()
	}
	if g.cause == Lost && survivor != 0 {
		g.finish(Message{Number: g.status, Killed: g.killed, Survivor: survivor})
		return
	}
	g.alarm.set(Now() + pause/5)
}

// ask asks a process to end, once. A stopped one is continued for that.
func (g *guard) ask(p process) {
	if g.asked[p] {
		return
	}
	g.asked[p] = true
	text := ""
	if isLeftover := g.cause == ByItself && !g.alive(); isLeftover {
		text = g.nameFor(Leftover, p)
	}
	if err := p.send(unix.SIGTERM); err == unix.EPERM {
		g.bar(p)
		return
	}
	p.send(unix.SIGCONT)
	g.tell(Leftover, p, text)
}

// killMembers kills all descendants once. It reports whether some of them were not there before and, if there are none
// but those that may not be killed, one of them.
func (g *guard) killMembers() (isNew bool, survivor int) {
	anybody := false
	for _, p := range members(g.target()) {
		text := ""
		if !g.killing[p] {
			text = g.nameFor(Killing, p)
		}
		if err := p.send(unix.SIGKILL); err == unix.EPERM {
			survivor = p.pid
			g.bar(p)
			continue
		}
		anybody = true
		if !g.killing[p] {
			g.killing[p], isNew = true, true
			g.tell(Killing, p, text)
		}
	}
	if anybody {
		survivor = 0
	}
	return isNew, survivor
}

// bar tells of a process that may not be ended.
func (g *guard) bar(p process) {
	if !g.barred[p] {
		g.barred[p] = true
		g.tell(Unkillable, p, g.nameFor(Unkillable, p))
	}
}

// mostLines is how many lines there are of a kind.
const mostLines = 5

// nameFor returns the command line of a process for a line of a kind; "" if there is to be none. One that has ended and
// waits for its parent has none.
func (g *guard) nameFor(kind Kind, p process) string {
	if g.told[kind] >= mostLines || g.cause == Lost {
		return ""
	}
	name := proc.Command(p.pid)
	if p.hasEnded() {
		return ""
	}
	return strings.ToValidUTF8(name[:min(len(name), 80)], "")
}

func (g *guard) tell(kind Kind, p process, text string) {
	if text != "" {
		g.told[kind]++
		g.report(Message{Kind: kind, Number: p.pid, Text: text})
	}
}

// alive reports whether the command runs.
func (g *guard) alive() bool { return g.pid != 0 }

// noteEnd takes note that a child has ended.
func (g *guard) noteEnd(pid int, w syscall.WaitStatus) {
	if pid != g.pid {
		return
	}
	g.pid, g.status, g.killed = 0, w.ExitStatus(), w.Signaled()
	if !g.killed {
		return
	}
	g.status = 128 + int(w.Signal())
	if !g.ending && w.Signal() != g.heard {
		g.diedOf = w.Signal()
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
