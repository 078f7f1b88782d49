//go:build unix && !aix && (!linux || guard_goroutine)

package guard

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Now counts from the start of this process. Whether the clock goes on while the machine sleeps differs from system to
// system.
func Now() time.Duration { return time.Since(began) }

var began = time.Now()

// A Guard runs the command. The Reports are closed when it is done.
type Guard struct {
	Reports <-chan Message
	orders  chan Message
	close   func()
	done    chan struct{} // closed when the guard has ended
}

// Start makes the guard of a command, which does not run yet.
func Start(argv []string) (*Guard, error) {
	reports := make(chan Message, 4) // all that there can be: nobody may wait for their reader
	closed := make(chan struct{})
	me := &Guard{reports, make(chan Message), sync.OnceFunc(func() { close(closed) }), make(chan struct{})}
	g := &guard{state{argv: argv, timer: timer{time.NewTimer(time.Hour)}}, me.orders, closed, make(chan os.Signal, 1), reports}
	signal.Notify(g.changed, syscall.SIGCHLD)
	go func() {
		defer close(reports)
		defer close(me.done)
		g.run()
	}()
	return me, nil
}

// Give gives an order.
func (g *Guard) Give(m Message) {
	select {
	case g.orders <- m:
	case <-g.done:
	}
}

// Kill does nothing: it is for a guard that is stopped, and this one cannot be stopped without us.
func (g *Guard) Kill() {}

// KilledBy returns 0: the guard is this process.
func (g *Guard) KilledBy() syscall.Signal { return 0 }

// Close ends the guard of a command that does not run, or has ended.
func (g *Guard) Close() { g.close() }

// KillOrphans closes the guard. There is nothing to kill: the guard is this process.
func (g *Guard) KillOrphans() (survivor int) {
	g.Close()
	return 0
}

// guard is the guard itself.
type guard struct {
	state
	orders  <-chan Message
	closed  <-chan struct{} // nil: it was closed
	changed chan os.Signal  // a child has ended
	reports chan<- Message
}

// wait waits for an order, for the timer or for the end of a child; if it may not block, it takes an order that is there. It
// returns false when nobody gives orders any more.
func (g *guard) wait(mayBlock bool) (m Message, open bool) {
	if !mayBlock {
		select {
		case m = <-g.orders:
		default:
		}
		return m, g.closed != nil
	}
	select {
	case m = <-g.orders:
	case <-g.closed:
		g.closed = nil
	case <-g.timer.C:
	case <-g.changed:
	}
	return m, g.closed != nil
}

func (g *guard) moved() {}

func (g *guard) send(m Message) { g.reports <- m }

func (g *guard) attributes() syscall.SysProcAttr { return syscall.SysProcAttr{} }

// caller returns the process id of flock-etcd.
func (g *guard) caller() int { return os.Getpid() }

func (g *guard) leaveSession() {}

func (g *guard) reap() {
	if g.alive() {
		var w syscall.WaitStatus
		if pid, _ := syscall.Wait4(g.pid, &w, unix.WNOHANG, nil); pid == g.pid {
			g.noteEnd(pid, w)
		}
	}
}

func (g *guard) kill() (survivor int) {
	for g.alive() {
		g.signal(syscall.SIGKILL)
		<-g.changed
		g.reap()
	}
	return 0
}

type timer struct{ *time.Timer }

func (t timer) set(at time.Duration) { t.Reset(at - Now()) }
