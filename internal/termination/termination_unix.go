//go:build unix

package termination

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"example.org/flock/internal/cstart"
	"example.org/flock/internal/sys"
)

var (
	begun   atomic.Bool  // Defer was called
	caught  atomic.Int64 // the first signal, 0: none has come
	handled []os.Signal
	first   = make(chan os.Signal, 1) // what Defer waits for
	last    = make(chan os.Signal, 1) // what Finish looks for
)

// Context is Defer from the moment on at which somebody waits for the context: to handle signals costs threads, which a
// run that does not wait does not need.
func Context() context.Context { return whenAwaited{} }

type whenAwaited struct{}

func (whenAwaited) Deadline() (deadline time.Time, ok bool) { return deadline, false }
func (whenAwaited) Done() <-chan struct{}                   { return Defer().Done() }

func (whenAwaited) Err() error {
	if !begun.Load() {
		return nil
	}
	return Defer().Err()
}

func (whenAwaited) Value(key any) any {
	if !begun.Load() {
		return nil
	}
	return Defer().Value(key)
}

// Defer returns a context that is cancelled by the first signal, and defers termination by it. A signal that is
// ignored, or blocked, stays so, and so does each signal of process 1, which none ends.
var Defer = sync.OnceValue(func() context.Context {
	begun.Store(true)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if cstart.Kills(sig) && os.Getpid() != 1 {
			handled = append(handled, sig)
		}
	}
	if handled == nil {
		return context.Background()
	}
	ctx, cancel := context.WithCancel(context.Background())
	signal.Notify(first, handled...)
	signal.Notify(last, handled...)
	go wait(first, cancel)
	return ctx
})

// wait waits for the first signal, calls the function ended, and lets the process die in time.
func wait(signals <-chan os.Signal, ended func()) {
	first := (<-signals).(syscall.Signal)
	caught.Store(int64(first))
	ended()
	go func() {
		sys.Sleep(patience)
		die(first)
	}()
	<-signals
	die(first)
}

// IsDue reports whether a signal has come.
func IsDue() bool { return caught.Load() != 0 }

// Finish ends the process by the signal that has come, if one has, were it at this moment: a command that has ended by
// the same one is known to have done so before wait or awaitSecond knows of it.
func Finish() {
	if catching != nil {
		catching.take()
	}
	if handled != nil {
		for _, sig := range Arrived(last) {
			caught.CompareAndSwap(0, int64(sig.(syscall.Signal)))
		}
	}
	if IsDue() {
		die(syscall.Signal(caught.Load()))
	}
}

// Allow ends what Defer has begun. It does not return if a signal has come.
func Allow() {
	if handled == nil {
		return
	}
	Undefer()
	Finish()
}

// die ends the process by a signal or, where it cannot die by that, with the status that a shell would see.
func die(sig syscall.Signal) {
	if !CanDieBy(sig) {
		os.Exit(128 + int(sig))
	}
	setDefault(sig)
	syscall.Kill(syscall.Getpid(), sig)
	select {}
}
