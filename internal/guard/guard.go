//go:build unix

package guard

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/command"
	"example.org/flock/internal/sys"
	"example.org/flock/internal/termination"
)

// Now reads the clock of the limits.
func Now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic(err) // every supported system has this clock
	}
	return time.Duration(t.Nano())
}

// grace is the time between SIGTERM and SIGKILL. Only tests change it.
var grace = 10 * time.Second

// TokenVariable is set in the environment of an exclusive holder's command, to a number that grows from holder to
// holder.
const TokenVariable = "FLOCK_TOKEN"

// A Guard is the process that runs the command, as its parent sees it.
type Guard struct {
	Reports <-chan Message // closed when the guard is gone

	pid        int // of the guard
	socket     *os.File
	end        syscall.WaitStatus // of the guard, when it is gone
	command    int                // see Started; 0: it does not run
	wake, kill alarm              // for this process, which may be stopped
}

// Check says why there can be no guard here.
func Check() error {
	_, err := children()
	if err != nil {
		return errors.New("there is no /proc of this pid namespace that shows the children of a process: " +
			sys.Text(err))
	}
	return nil
}

// Start makes the guard of a command, which does not run yet. The guard inherits what this process would give to the
// command. Of that the command does not get the descriptors in kept.
//
// It must be called by the first thread of the process: the guard is told when its parent ends, which is a thread.
func Start(argv []string, kept ...int) (*Guard, error) {
	err := prepare()
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
	g.pid, err = command.StartSelf([]string{Name, option + strconv.Itoa(pair[1])}, attributesOfGuard)
	unix.Close(pair[1])
	if err != nil {
		unix.Close(pair[0])
		return nil, err
	}
	sendWords(pair[0], append([]string{join(kept)}, argv...))
	reports := make(chan Message)
	g.Reports, g.socket = reports, os.NewFile(uintptr(pair[0]), "guard")
	go func() {
		defer close(reports)
		var from splitter
		for b := make([]byte, 4096); ; {
			n, err := g.socket.Read(b)
			if err != nil {
				break
			}
			for _, m := range from.add(b[:n]) {
				if m.Kind == Started {
					g.command = m.Number
				}
				reports <- m
			}
		}
		for {
			if _, err := syscall.Wait4(g.pid, &g.end, 0, nil); err != unix.EINTR {
				return
			}
		}
	}()
	return g, nil
}

func join(numbers []int) string {
	var words []string
	for _, n := range numbers {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, " ")
}

// KilledBy returns the signal that the guard died by, when the Reports are closed; 0: none.
func (g *Guard) KilledBy() syscall.Signal { return max(g.end.Signal(), 0) } // -1: none

// Give gives an order. New limits are for this process, too.
func (g *Guard) Give(m Message) {
	if m.Limits != (Limits{}) && m.Limits != Unlimited {
		g.wake.set(m.Limits.Kill)
		g.kill.set(m.Limits.End)
	}
	send(int(g.socket.Fd()), m.encode())
	if m.Kind == Abort || m.Kind == Signal {
		unix.Kill(g.pid, unix.SIGCONT)
	}
}

// PassOn has the guard send a signal to the command, which came to this process.
func (g *Guard) PassOn(s syscall.Signal) {
	g.Give(Message{Kind: Signal, Number: int(s), Terminal: termination.FromTerminal(s)})
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
	return killAll(g.command, Now()+time.Second, func(int, syscall.WaitStatus) {}, nil)
}

// endAll kills what a guard that was killed has left behind, and waits for what may not be killed, which it tells once.
func (g *Guard) endAll(tell func(pid int)) {
	g.Close()
	g.socket.Close() // as above
	killAll(g.command, never, func(int, syscall.WaitStatus) {}, tell)
}
