//go:build unix

package termination

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"example.org/flock/internal/cstart"
	"example.org/flock/internal/sys"
)

var (
	due     atomic.Int64 // the signal by which Finish ends this process: mostly the first that has come; 0: none
	handled []syscall.Signal

	// Each signal comes to both.
	forWait   = make(chan os.Signal, 1)
	forFinish = make(chan os.Signal, 1)
)

// Context returns a context that calls Defer when somebody begins to wait for it: to handle signals costs threads,
// which a run that does not wait does not need.
func Context() context.Context { return lazyContext{context.Background()} }

type lazyContext struct{ context.Context }

func (lazyContext) Done() <-chan struct{} { return Defer().Done() }

func (lazyContext) Err() error {
	if IsDue() {
		return context.Canceled
	}
	return nil
}

// deferrable are the signals that Defer defers. They end a process in which package signal is used, too.
var deferrable = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// Defer returns a context that is cancelled by the first signal, and defers termination by it. A signal that is
// ignored, or blocked, stays so, and so does each signal of process 1, which none ends.
var Defer = sync.OnceValue(func() context.Context {
	for _, sig := range deferrable {
		if cstart.Kills(sig) && os.Getpid() != 1 {
			handled = append(handled, sig)
			signal.Notify(forWait, sig)
			signal.Notify(forFinish, sig)
		}
	}
	if handled == nil {
		return context.Background()
	}
	ctx, cancel := context.WithCancel(context.Background())
	go wait(forWait, cancel)
	return ctx
})

// wait waits for the first signal, calls cancel, and ends the process a second later, or at the second signal.
func wait(signals <-chan os.Signal, cancel func()) {
	first := (<-signals).(syscall.Signal)
	due.Store(int64(first))
	cancel()
	go func() {
		sys.Sleep(patience)
		die(first)
	}()
	<-signals
	die(first)
}

// IsDue reports whether a signal has come.
func IsDue() bool { return due.Load() != 0 }

// Finish ends the process by the first signal that has come, if one has. It looks itself: a signal may just have come
// to this process and to the command, whose end is known before wait or dieInTime has received it.
func Finish() {
	awaitPending()
	if catching != nil {
		catching.take()
	}
	if handled != nil {
		for _, sig := range Arrived(forFinish) {
			due.CompareAndSwap(0, int64(sig.(syscall.Signal)))
		}
	}
	if IsDue() {
		die(syscall.Signal(due.Load()))
	}
}

// pending returns which of the first 32 signals have come to the process and were not handled yet; nil: nothing tells.
var pending func() uint32

// awaitPending gives the threads of this process the time to handle a signal that has come, a tenth of a second at
// most. The kernel gives it to any thread, and that may run later than the one that learns how the command has ended.
func awaitPending() {
	for i := 0; i < 100 && pending != nil; i++ {
		set := pending()
		isPending := func(sig syscall.Signal) bool { return set>>(sig-1)&1 != 0 }
		if !slices.ContainsFunc(inEffect(), isPending) {
			return
		}
		sys.Sleep(time.Millisecond)
	}
}

// EndBy has Finish end this process by a signal, if it can die by that, and returns the status that a shell sees then.
func EndBy(sig syscall.Signal) (status int) {
	if canDieBy(sig) {
		due.Store(int64(sig))
	}
	return 128 + int(sig)
}

// die ends the process by a signal or, where it cannot die by that, with the status that a shell would see.
func die(sig syscall.Signal) {
	if !canDieBy(sig) {
		os.Exit(128 + int(sig))
	}
	setDefault(sig)
	syscall.Kill(syscall.Getpid(), sig)
	select {}
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
