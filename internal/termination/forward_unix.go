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
var Forwarded = []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
	syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGWINCH}

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

// inEffect returns those of Forwarded that would do something to this process.
func inEffect() []syscall.Signal {
	return slices.DeleteFunc(slices.Clone(Forwarded), func(s syscall.Signal) bool { return !cstart.Kills(s) })
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

// canDieBy reports whether this process can die by a signal of Forwarded, as one does that does not catch it.
func canDieBy(sig syscall.Signal) bool {
	switch {
	case os.Getpid() == 1, sig == syscall.SIGWINCH:
		return false
	case cstart.IsLibrary:
		return true
	}
	// The handlers of the Go runtime print its stacks for SIGQUIT, and ignore SIGUSR1 and the like.
	return slices.Contains(deferrable, sig)
}
