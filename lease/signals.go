//go:build unix

package lease

import (
	"os"
	"os/signal"
	"syscall"
)

// forwarded are the signals that are meant for the command and, before it runs, do to this program what they do to one that
// does not catch them.
var forwarded = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
	syscall.SIGALRM, syscall.SIGWINCH}

// endsWait reports whether a program that does not catch the signal dies by it.
func endsWait(sig os.Signal) bool { return sig != syscall.SIGWINCH }

// catchSignals returns those that come. One that is ignored stays ignored.
func catchSignals() <-chan os.Signal {
	c := make(chan os.Signal, 8)
	for _, s := range forwarded {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
	return c
}

// die dies by the signal, as a program does that did not catch it. For SIGQUIT the Go runtime would print its stacks, and it
// ignores SIGUSR1 and the like; process 1 cannot die by a signal. They return the status that a shell would see.
func die(sig syscall.Signal) int {
	if sig == syscall.SIGTERM || sig == syscall.SIGINT || sig == syscall.SIGHUP {
		signal.Reset(sig)
		syscall.Kill(os.Getpid(), sig)
		if os.Getpid() != 1 {
			select {}
		}
	}
	return 128 + int(sig)
}
