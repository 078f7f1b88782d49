//go:build unix

package termination

import (
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/cstart"
	"example.org/flock/internal/sys"
)

// Forwarded are the signals that are meant for the command, where this process passes them on. Before the command runs
// they do to this process what they do to one that does not catch them.
var Forwarded = []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
	syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGWINCH}

// inEffect returns those of Forwarded that would do something to this process.
func inEffect() []syscall.Signal {
	return slices.DeleteFunc(slices.Clone(Forwarded), func(s syscall.Signal) bool { return !cstart.Kills(s) })
}

// IsOfTerminals reports whether a terminal sends the signal, to a process group.
func IsOfTerminals(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGQUIT || s == syscall.SIGWINCH
}

// Signals are those of a list that have come since Catch, or Listen: see next_*.go.
type Signals struct {
	FD     int        // of Catch: it is readable when one has come
	source            // what Next reads them from
	mu     sync.Mutex // for take
}

// catching is what Catch has returned.
var catching *Signals

// Catch catches the signals of Forwarded from now on; they end nothing any more, neither this process nor what Defer
// has returned. One that is ignored, or blocked, stays so. It must not be called twice.
func Catch() (*Signals, error) {
	list := inEffect()
	s, err := Listen(list)
	if err == nil {
		err = s.openFD(list)
	}
	if err != nil {
		return nil, err
	}
	catching = s
	return s, nil
}

// pipe returns the ends of a pipe, of which none blocks.
func pipe() (read, write int, err error) {
	var ends [2]int
	err = unix.Pipe(ends[:])
	read, err = sys.AboveStandard(ends[0], err)
	write, err = sys.AboveStandard(ends[1], err)
	unix.SetNonblock(read, true)
	unix.SetNonblock(write, true)
	return read, write, err
}

// CommandEnded has the next signal end this process, but not at once. Nobody may call Next then.
func (s *Signals) CommandEnded() { go s.dieInTime() }

// take returns the first signal that has come and would end a process, and notes it; 0: there is none.
func (s *Signals) take() (sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sig, _ = s.Next()
	for sig == syscall.SIGWINCH { // it ends no process
		sig, _ = s.Next()
	}
	due.CompareAndSwap(0, int64(sig)) // 0 for 0 changes nothing
	return sig
}

// dieInTime has the first signal that comes end the process a second later, and the second one at once, unless Finish
// does so before.
func (s *Signals) dieInTime() {
	fds := []unix.PollFd{{Fd: int32(s.FD), Events: unix.POLLIN}}
	first := syscall.Signal(0)
	for first == 0 {
		unix.Poll(fds, -1)
		first = s.take()
	}
	for isTime := false; !isTime; {
		n, _ := unix.Poll(fds, int(patience.Milliseconds()))
		isTime = n == 0 || s.take() != 0
	}
	die(first)
}

// Notify is Catch with a channel, which needs threads later on; Catch does not, where next_linux.go is.
func Notify() <-chan os.Signal { return notify(inEffect()) }

func notify(list []syscall.Signal) <-chan os.Signal {
	signals := make(chan os.Signal, 32)
	for _, s := range list {
		signal.Notify(signals, s)
	}
	signal.Stop(forWait)
	signal.Stop(forFinish)
	return signals
}

// flush has package signal deliver all signals that have come: before that, signal.Stop does not return.
func flush() {
	awaitPending()
	barrier := make(chan os.Signal, 1)
	signal.Notify(barrier, syscall.SIGWINCH)
	signal.Stop(barrier)
}

// Arrived returns the signals that have come before it is called and that nobody has received. Where one was for the
// command, too, the command may have ended by it, and that is known, before package signal delivers it here.
func Arrived(signals <-chan os.Signal) (list []os.Signal) {
	flush()
	for {
		select {
		case s := <-signals:
			list = append(list, s)
		default:
			return list
		}
	}
}

// Undefer has a signal end the process at once again, when the lock is released.
func Undefer() {
	list := handled
	if catching != nil {
		list = inEffect()
	}
	for _, sig := range list {
		setDefault(sig)
	}
}

// setDefault sets the disposition of a signal to its default. Package signal may need a new thread for that.
func setDefault(sig syscall.Signal) {
	if cstart.IsLibrary {
		cstart.DefaultAction(sig)
	} else {
		signal.Reset(sig)
	}
}
