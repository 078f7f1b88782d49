//go:build unix && !linux

package guard

import (
	"encoding/binary"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/command"
	"example.org/flock/internal/sys"
)

var attributes, attributesOfGuard syscall.SysProcAttr

// Check returns nil: a guard can run here.
func Check() error { return nil }

func setName(string) {}

// mostSleep is how long a timer may run, and a guard wait: timers stand still while a Mac sleeps, and the clock does
// not.
const mostSleep = time.Second

// A timer sends a signal to this process, unless it is stopped.
type timer struct{ times chan time.Duration }

func newTimer(signal unix.Signal) (timer, error) {
	return newTimerFor(func() { unix.Kill(unix.Getpid(), signal) })
}

func newTimerFor(expire func()) (timer, error) {
	t := timer{make(chan time.Duration)}
	go func() {
		at := never
		for {
			select {
			case at = <-t.times:
			case <-time.After(min(at-Now(), mostSleep)):
			}
			if Now() >= at {
				expire()
				at = never
			}
		}
	}()
	return t, nil
}

// set sets the time on the clock at which the signal is sent.
func (t timer) set(at time.Duration) {
	if t.times != nil { // otherwise there was no guard
		t.times <- at
	}
}

// run waits for the ends of all children, and says what they were.
func (w watch) run() {
	for {
		var status syscall.WaitStatus
		pid, err := sys.Wait4(-1, &status, 0)
		if err != nil {
			return
		}
		b := binary.NativeEndian.AppendUint32(nil, uint32(pid))
		unix.Write(w.thread, binary.NativeEndian.AppendUint32(b, uint32(status)))
	}
}

// reap says which children have ended. Whether there are others is not asked: see family.remains.
func (w watch) reap(note func(pid int, w syscall.WaitStatus)) (hasChildren bool) {
	var b [8]byte
	for isReadable(w.fd) {
		if n, _ := unix.Read(w.fd, b[:]); n == len(b) {
			note(int(binary.NativeEndian.Uint32(b[:])), syscall.WaitStatus(binary.NativeEndian.Uint32(b[4:])))
		}
	}
	return false
}

// continueAll continues who is in the process group that the command is to have.
func (f *family) continueAll() {
	if f.group != 0 {
		unix.Kill(-f.group, unix.SIGCONT)
	}
}

// startLeader starts a process that makes a process group, leads it, and ends: whoever leads a group cannot make a
// session, and setsid(1) would fork. The caller reaps the leader when somebody has joined.
func startLeader() (leader int, err error) {
	return command.StartSelf([]string{Name, leads}, syscall.SysProcAttr{Setpgid: true}, -1)
}

type finder struct{}

// find lists the command and its process group: others cannot be found.
func (f *family) find() { f.list = f.findGroup(f.list) }

// has reports whether a process of the list is still there.
func (f *family) has(p process) bool { return unix.Kill(p.pid, 0) != unix.ESRCH }

// send sends a signal to a process of the list, or to the process group, whose last one may have ended since.
func (f *family) send(p process, s unix.Signal) error {
	if p.pid > 0 {
		return unix.Kill(p.pid, s)
	}
	err := signalGroup(-p.pid, s)
	if err == unix.EPERM && isOfTheDead(-p.pid) {
		return unix.ESRCH
	}
	return err
}

// remains reports whether somebody is left.
func (f *family) remains(bool) bool { return len(f.findGroup(nil)) > 0 }

// makeThreads has nothing to do: whether the runtime may need another thread later is not looked at here.
func makeThreads() {}
