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
	"example.org/flock/internal/sys"
	"example.org/flock/internal/termination"
)

// TokenVariable is a variable in the environment of an exclusive holder's command: a number that grows from holder to
// holder.
const TokenVariable = "FLOCK_TOKEN"

// A Guard is the process that runs the command, as its parent sees it.
type Guard struct {
	pid        int // of the guard
	argv       []string
	socket     *os.File
	socketFD   int                // its descriptor
	end        syscall.WaitStatus // of the guard, when it is gone
	passedOn   [128]bool          // the signals that were passed on to the command
	family     family             // what this process knows of it
	wake, kill timer              // for this process: to continue it, should it be stopped, and to kill it
	sent, got  Message            // memory for them
}

// Start starts the guard of a command, but not yet the command. The guard inherits what the command would inherit from
// this process. The command then gets all of that except the descriptors in forGuard.
//
// The first thread of the process must call it: the kernel tells the guard when its parent ends, and that is a thread.
func Start(argv []string, forGuard ...int) (*Guard, error) {
	err := Check()
	if err != nil {
		return nil, err
	}
	g := &Guard{argv: argv}
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
	if g.pid, err = startProcess(pair[1], forGuard); err != nil {
		unix.Close(pair[0])
		return nil, err
	}
	g.socket, g.socketFD = os.NewFile(uintptr(pair[0]), "guard"), pair[0]
	return g, nil
}

// startProcess starts the process of a guard, and closes its socket here. It inherits the standard error under another
// number, if there is one; its own is /dev/null, if there is that, for the Go runtime writes all its stacks there when
// it cannot make a thread. Its second word has the size of a message, the numbers of the socket, of the command's
// standard error (-1: it has none), and of all others that are not for the command.
func startProcess(socket int, forGuard []int) (pid int, err error) {
	defer unix.Close(socket)
	stderr, err := unix.FcntlInt(2, unix.F_DUPFD, 3)
	switch err {
	case nil:
		defer unix.Close(stderr)
	case unix.EBADF:
		stderr = -1
	default: // without it the guard would not keep a lock whose descriptor is that
		return 0, errors.New("cannot duplicate standard error: " + sys.Text(err))
	}
	ofCommand, own := stderr, 2
	if slices.Contains(forGuard, 2) {
		ofCommand = -1
	}
	if null, err := sys.AboveStandard(unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)); err == nil {
		defer unix.Close(null)
		own = null
	}
	if _, err := unix.FcntlInt(uintptr(socket), unix.F_SETFD, 0); err != nil { // not close-on-exec
		return 0, err
	}
	word := option + strconv.Itoa(sizeOfMessage)
	for _, fd := range append([]int{socket, ofCommand, stderr}, forGuard...) {
		word += "," + strconv.Itoa(fd)
	}
	return command.StartSelf([]string{Name, word}, attributesOfGuard, own)
}

// receive waits for the next report, which is in got then. If there is none any more, the guard is gone.
func (g *Guard) receive() (isReport bool) {
	isReport = g.got.receive(g.socket)
	switch {
	case !isReport:
		g.end = reap(g.pid)
	case g.got.Kind == Started:
		g.family.command, g.family.group = g.got.Number, g.got.Group
	}
	return isReport
}

// Reports returns a channel of the reports. It is closed when the guard is gone.
func (g *Guard) Reports() <-chan Message {
	reports := make(chan Message)
	go func() {
		defer close(reports)
		for g.receive() {
			reports <- g.got
		}
	}()
	return reports
}

// KilledBy returns the signal that killed the guard, when the Reports are closed; -1: none.
func (g *Guard) KilledBy() syscall.Signal { return g.end.Signal() }

// Give gives the guard an order, and continues it, should it be stopped.
func (g *Guard) Give(m Message) {
	if m.Deadlines != (Deadlines{}) {
		g.setTimers(m.Deadlines)
	}
	if m.Kind == Run {
		m.Parent, m.Text = os.Getpid(), strings.Join(g.argv, "\x00")
	}
	g.sent = m
	g.sent.send(g.socketFD)
	unix.Kill(g.pid, unix.SIGCONT)
}

// setTimers has this process continued when the command is killed, and killed if it is still there at the end.
func (g *Guard) setTimers(d Deadlines) {
	g.wake.set(d.Kill)
	g.kill.set(d.End)
}

// PassOn has the guard send the command a signal that came to this process; fromTerminal says that the terminal sent it
// to the whole process group.
func (g *Guard) PassOn(s syscall.Signal, fromTerminal bool) {
	g.passedOn[s] = true
	g.Give(Message{Kind: Signal, Number: int(s), Terminal: fromTerminal})
}

// Status returns the exit status of a command that has Ended. If it has died of a signal that this process was sent,
// too, that ends this process: so a shell sees that it should end, and systemd, which has stopped this service by it,
// sees no failure. See package termination.
func (g *Guard) Status(last Message) int {
	switch sig := syscall.Signal(last.Number - 128); {
	case last.Cause == AtLimit:
		return StatusAtLimit
	case last.Killed && g.passedOn[sig]:
		return termination.EndBy(sig)
	}
	return last.Number
}

// Close ends the guard of a command that has ended, or was never started, and the watch over this process.
func (g *Guard) Close() {
	g.setTimers(noDeadlines)
	unix.Shutdown(g.socketFD, unix.SHUT_RDWR)
}

// KillAll kills the guard, if it is still there, and its descendants. If this process may not kill one of them, or one
// is not dead after a second, KillAll returns that.
func (g *Guard) KillAll() (survivor int) { return g.killAll(Lost, Now()+time.Second, func(Message) {}) }

// killAll is KillAll with a report of what happens. Unless the cause is Lost, it waits for those who may not be killed.
func (g *Guard) killAll(cause Cause, deadline time.Duration, report func(Message)) (survivor int) {
	g.Close()
	g.socket.Close() // it may be the only descriptor that is free to look for children
	l := newLife(func(m Message) {
		survivor = m.Survivor
		report(m)
	})
	l.family, l.cause, l.hurries = g.family, cause, true
	for {
		l.proceed(reapAll(l.noteEnd))
		switch {
		case l.isOver:
			return survivor
		case Now() > deadline && len(l.family.list) > 0:
			return l.family.list[0].number()
		}
		sys.Sleep(max(l.nextTime()-Now(), time.Millisecond)) // one may have forked before it was killed
	}
}
