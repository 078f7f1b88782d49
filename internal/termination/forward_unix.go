//go:build unix

package termination

import (
	"os"
	"os/signal"
	"slices"
	"syscall"

	"example.org/flock/internal/cstart"
)

// Forwarded are the signals that are meant for the command, where this process passes them on. Before the command runs
// they do to this process what they do to one that does not catch them.
var Forwarded = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
	syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGWINCH}

// Forward returns the signals of Forwarded that come from now on; they end nothing any more, neither this process nor
// what Defer has returned. One that is ignored, or blocked, stays so. It needs threads later on;
// Catch does not, where next_linux.go is.
func Forward() <-chan os.Signal { return forward(inEffect()) }

func forward(list []syscall.Signal) <-chan os.Signal {
	signals := make(chan os.Signal, 32)
	for _, s := range list {
		signal.Notify(signals, s)
	}
	signal.Stop(forWait)
	signal.Stop(forFinish)
	return signals
}

// inEffect returns those of Forwarded that would do something to this process.
func inEffect() (list []syscall.Signal) {
	for _, s := range Forwarded {
		if s := s.(syscall.Signal); cstart.Kills(s) {
			list = append(list, s)
		}
	}
	return list
}

// IsOfTerminals reports whether a terminal sends the signal, to a process group.
func IsOfTerminals(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGQUIT || s == syscall.SIGWINCH
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

// FinishBy has Finish end the process by a signal, if it can die by that in the way of a process that does not catch
// it.
func FinishBy(sig syscall.Signal) {
	if CanDieBy(sig) {
		due.Store(int64(sig))
	}
}

// Die dies by the signal, as a process does that did not catch it, or returns the status that a shell would see.
func Die(sig syscall.Signal) (status int) {
	if CanDieBy(sig) {
		die(sig)
	}
	return 128 + int(sig)
}

// CanDieBy reports whether this process can die by a signal of Forwarded.
func CanDieBy(sig syscall.Signal) bool {
	switch {
	case os.Getpid() == 1, sig == syscall.SIGWINCH:
		return false
	case cstart.IsLibrary:
		return true
	}
	// The handlers of the Go runtime print its stacks for SIGQUIT, and ignore SIGUSR1 and the like.
	return slices.Contains(deferrable, sig)
}
