//go:build unix

package termination

import (
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/cstart"
	"example.org/flock/internal/sys"
)

// Signals are those of a list that have come since Catch, or Listen. Their descriptor is readable when one has come. How
// they come there, next_*.go says.
type Signals struct {
	FD     int
	source            // what Next reads them from
	ended  [2]int     // a pipe: the command has ended
	mu     sync.Mutex // for take
}

// catching is what Catch has returned.
var catching *Signals

// Catch catches the signals of Forwarded from now on; they end nothing any more, neither this process nor what Defer
// has returned. One that is ignored, or blocked, stays so. It must not be called twice.
func Catch() (*Signals, error) {
	s, err := Listen(inEffect())
	if err == nil {
		s.ended[0], s.ended[1], err = pipe()
	}
	if err != nil {
		return nil, err
	}
	runs := make(chan struct{})
	go func() {
		close(runs)
		s.dieInTime()
	}()
	<-runs
	catching = s
	return s, nil
}

// Listen catches the signals of a list, of which none ends this process any more. It is for one list in a process.
func Listen(list []syscall.Signal) (*Signals, error) {
	read, write, err := pipe()
	if err != nil {
		return nil, err
	}
	unix.SetNonblock(read, true)
	unix.SetNonblock(write, true)
	s := &Signals{FD: read}
	s.catch(list, write)
	return s, nil
}

func pipe() (read, write int, err error) {
	var ends [2]int
	err = unix.Pipe(ends[:])
	read, err = sys.AboveStandard(ends[0], err)
	write, err = sys.AboveStandard(ends[1], err)
	return read, write, err
}

// CommandEnded has the next signal end this process, but not at once. Nobody may call Next then.
func (s *Signals) CommandEnded() { unix.Write(s.ended[1], []byte{0}) }

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

// dieInTime waits until the command has ended. Then the first signal that comes ends the process a second later, and
// the second one at once, unless Finish does so before. It has a thread before the command runs.
func (s *Signals) dieInTime() {
	for n := 0; n <= 0; {
		n, _ = unix.Read(s.ended[0], make([]byte, 1))
	}
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
