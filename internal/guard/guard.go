//go:build unix

package guard

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/command"
	"example.org/flock/internal/sys"
)

// TokenVariable is a variable in the environment of an exclusive holder's command: a number that grows from holder to
// holder.
const TokenVariable = "FLOCK_TOKEN"

// A Guard is the process that runs the command, as its parent sees it.
type Guard struct {
	pid        int // of the guard
	socket     *os.File
	socketFD   int                // its descriptor
	endFD      int                // a descriptor that is readable when the guard is gone, -1: there is none
	from       splitter           // of what comes from the socket
	bytes      []byte             // memory for that
	line       []byte             // and for orders
	end        syscall.WaitStatus // of the guard, when it is gone
	hasStarted atomic.Bool        // it has said that the command runs
	family     family             // what this process knows of it
	wake, kill timer              // for this process: to continue it, should it be stopped, and to kill it
}

// Start starts the guard of a command, but not yet the command. The guard inherits what the command would inherit from
// this process. The command then gets all of that except the descriptors in forGuard.
//
// The first thread of the process must call it: the kernel tells the guard when its parent ends, and that is a thread.
func Start(argv []string, forGuard ...int) (*Guard, error) {
	err := prepare()
	if err != nil {
		return nil, err
	}
	g := &Guard{bytes: make([]byte, 4096)}
	if g.wake, err = newTimer(unix.SIGCONT); err == nil {
		g.kill, err = newTimer(unix.SIGKILL)
	}
	if err != nil {
		return nil, errors.New("cannot make a timer: " + sys.Text(err))
	}
	pair, err := sys.Socketpair()
	if err != nil {
		return nil, errors.New("cannot make a socket: " + sys.Text(err))
	}
	var stderr int
	if g.pid, stderr, err = startProcess(pair[1]); err != nil {
		unix.Close(pair[0])
		return nil, err
	}
	b := Message{Kind: Parent, Number: os.Getpid()}.appendTo(nil)
	b = Message{Kind: Stderr, Number: stderr}.appendTo(b)
	for _, fd := range forGuard {
		b = Message{Kind: ForGuard, Number: fd}.appendTo(b)
	}
	send(pair[0], Message{Kind: Words, Text: strings.Join(argv, "\x00")}.appendTo(b))
	g.socket, g.socketFD, g.endFD = os.NewFile(uintptr(pair[0]), "guard"), pair[0], endOf(g.pid)
	return g, nil
}

// startProcess starts the process of a guard, which has the socket under the same number, and closes that here. It
// inherits the standard error as the descriptor stderr, -1 if there is none; its own is /dev/null, if there is that,
// for the Go runtime writes all its stacks there when it cannot make a thread.
func startProcess(socket int) (pid, stderr int, err error) {
	defer unix.Close(socket)
	switch stderr, err = unix.FcntlInt(2, unix.F_DUPFD, 3); err {
	case nil:
		defer unix.Close(stderr)
	case unix.EBADF:
		stderr = -1
	default: // without it the guard would not keep a lock whose descriptor is that
		return 0, -1, errors.New("cannot duplicate standard error: " + sys.Text(err))
	}
	own := 2
	if null, err := sys.AboveStandard(unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)); err == nil {
		defer unix.Close(null)
		own = null
	}
	if _, err := unix.FcntlInt(uintptr(socket), unix.F_SETFD, 0); err != nil { // not close-on-exec
		return 0, -1, err
	}
	pid, err = command.StartSelf([]string{Name, option + strconv.Itoa(socket)}, attributesOfGuard, own)
	return pid, stderr, err
}

// receive waits for reports, and calls take with each. It reports whether more can come; if not, the guard is gone. The
// socket may stay open then: by a child of the guard that was to become the command, and is stopped.
func (g *Guard) receive(take func(Message)) (open bool) {
	fds := [2]unix.PollFd{{Fd: int32(g.socketFD), Events: unix.POLLIN}, {Fd: int32(g.endFD), Events: unix.POLLIN}}
	for n := 0; n <= 0; {
		n, _ = unix.Poll(fds[:], -1)
	}
	n := 0
	if fds[1].Revents == 0 || isReadable(g.socketFD) {
		n, _ = g.socket.Read(g.bytes)
	}
	if n == 0 {
		g.end = reap(g.pid)
		return false
	}
	g.from.add(g.bytes[:n])
	for m, ok := g.from.next(); ok; m, ok = g.from.next() {
		if m.Kind == Started {
			g.hasStarted.Store(true)
			g.family.command, g.family.group = m.Number, m.Group
		}
		take(m)
	}
	return true
}

// Reports returns a channel of the reports. It is closed when the guard is gone.
func (g *Guard) Reports() <-chan Message {
	reports := make(chan Message)
	go func() {
		defer close(reports)
		for g.receive(func(m Message) { reports <- m }) {
		}
	}()
	return reports
}

// KilledBy returns the signal that killed the guard, when the Reports are closed; 0: none.
func (g *Guard) KilledBy() syscall.Signal { return max(g.end.Signal(), 0) } // -1: none

// Give gives the guard an order, and continues it, should it be stopped. But while the command runs, new deadlines can
// wait until the old ones have come.
func (g *Guard) Give(m Message) {
	if m.Deadlines != (Deadlines{}) {
		g.setTimers(m.Deadlines)
	}
	g.line = m.appendTo(g.line[:0])
	send(g.socketFD, g.line)
	if canWait := m.Kind == Move && g.hasStarted.Load(); !canWait {
		unix.Kill(g.pid, unix.SIGCONT)
	}
}

// setTimers has this process continued when the command is killed, and killed if it is still there at the end.
func (g *Guard) setTimers(d Deadlines) {
	g.wake.set(d.Kill)
	g.kill.set(d.End)
}

// PassOn has the guard send the command a signal that came to this process; fromTerminal says that the terminal sent it
// to the whole process group.
func (g *Guard) PassOn(s syscall.Signal, fromTerminal bool) {
	g.Give(Message{Kind: Signal, Number: int(s), Terminal: fromTerminal})
}

// Close ends the guard of a command that has ended, or was never started, and the watch over this process.
func (g *Guard) Close() {
	g.setTimers(noDeadlines)
	unix.Shutdown(g.socketFD, unix.SHUT_RDWR)
}

// KillAll kills the guard, if it is still there, and its descendants. If this process may not kill one of them, or one
// is not dead after a second, KillAll returns that. If this process is stopped meanwhile, the kernel continues it.
func (g *Guard) KillAll() (survivor int) {
	g.closeAll()
	return g.family.killUntil(Now() + time.Second)
}

// closeAll is Close, and gives back the descriptor of the socket: it may be the only one that is free to look for
// children.
func (g *Guard) closeAll() {
	g.Close()
	g.socket.Close()
}
