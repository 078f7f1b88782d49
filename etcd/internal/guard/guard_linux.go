//go:build !guard_goroutine

package guard

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/command"
	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

// Now reads CLOCK_BOOTTIME.
func Now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(err) // every kernel since 2.6.39 has this clock
	}
	return time.Duration(t.Nano())
}

// A Guard is the process that runs the command, as flock-etcd sees it. The Reports are closed when the guard is gone.
type Guard struct {
	Reports <-chan Report

	socket int
	pid    int
	end    syscall.WaitStatus // when the Reports are closed

	// Both are for this process, which may be stopped.
	wake, kill kernelTimer
}

// option stands first in the words with which flock-etcd starts itself as a guard. Its value is the number of a socket.
const option = "--guard="

// Start makes the guard of a command, which does not run yet.
func Start(argv []string) (*Guard, error) {
	if err := proc.CanTell(); err != nil {
		return nil, err // the descendants of the command could not be found
	}
	wake, err := newKernelTimer(unix.SIGCONT)
	if err != nil {
		return nil, errors.New("cannot make a timer: " + sys.Text(err))
	}
	kill, err := newKernelTimer(unix.SIGKILL)
	if err != nil {
		return nil, errors.New("cannot make a timer: " + sys.Text(err))
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, errors.New("cannot make a socket: " + sys.Text(err))
	}
	adoptOrphans()
	keepSpare()
	// The guard keeps the number. The command inherits whatever other descriptors this process did.
	syscall.ForkLock.Lock()
	unix.FcntlInt(uintptr(pair[1]), unix.F_SETFD, 0)
	syscall.ForkLock.Unlock()
	pid, err := command.StartSelf(append([]string{os.Args[0], option + strconv.Itoa(pair[1])}, argv...))
	unix.Close(pair[1])
	if err != nil {
		return nil, err
	}
	reports := make(chan Report)
	g := &Guard{Reports: reports, socket: pair[0], pid: pid, wake: wake, kill: kill}
	go func() {
		defer close(reports)
		for {
			var r Report
			var ok bool
			if r.Failure, ok = receive(pair[0], &r.ReportHeader); !ok {
				syscall.Wait4(pid, &g.end, 0, nil)
				return
			}
			reports <- r
			runtime.Gosched() // whoever waits for it goes on in this thread, which would wait for the next one
		}
	}()
	return g, nil
}

// KilledBy returns the signal that the guard died by, when the Reports are closed; 0: none.
func (g *Guard) KilledBy() syscall.Signal { return max(g.end.Signal(), 0) } // -1: none

// give gives an order. New limits are for this process, too.
func (g *Guard) give(o order) {
	if o.Limits != (Limits{}) {
		g.wake.setAt(o.Limits.Kill, again)
		g.kill.setAt(o.Limits.End, 0)
	}
	send(g.socket, &o, "")
	if o.Abort {
		unix.Kill(g.pid, unix.SIGCONT)
	}
}

// again is how often a stopped process is continued that has to kill.
const again = 50 * time.Millisecond

// Kill kills the guard, and so the command.
func (g *Guard) Kill() { unix.Kill(g.pid, unix.SIGKILL) }

// Close ends the guard of a command that does not run, or has ended, and the watch over this process.
func (g *Guard) Close() {
	g.wake.setAt(0, 0)
	g.kill.setAt(0, 0)
	unix.Shutdown(g.socket, unix.SHUT_RDWR)
}

// adoptOrphans makes the descendants of a guard that is killed children of this process, which may have children already,
// from a program that became flock-etcd.
func adoptOrphans() {
	if unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) != unix.ECHILD {
		before, _ := descendants()
		for _, pid := range before {
			earlier[pid] = true
		}
	}
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// earlier are the descendants that this process had before the guard.
var earlier = map[int]bool{}

// KillOrphans kills what the guard leaves behind when it was killed itself, and closes it. It returns a descendant that may
// not be killed, or is not dead after a second, if there is one. The kernel continues this process if it is stopped meanwhile.
func (g *Guard) KillOrphans() (survivor int) {
	g.kill.setAt(0, 0)
	defer g.Close()
	return killDescendants(Now()+time.Second, func(int, syscall.WaitStatus) {})
}

// guard is the guard itself.
type guard struct {
	state
	socket  int         // -1: closed
	wake    kernelTimer // continues this process when it is to kill, should it be stopped
	command int         // pidfd of the command
}

// The guard begins and ends in the initialization of this package, before most of what flock-etcd needs is initialized.
func init() {
	if len(os.Args) > 2 && strings.HasPrefix(os.Args[1], option) {
		socket, _ := strconv.Atoi(strings.TrimPrefix(os.Args[1], option))
		peer, err := unix.GetsockoptUcred(socket, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			return // nobody who makes a guard: it is an option that does not exist
		}
		if int(peer.Pid) == os.Getppid() {
			beGuard(socket, os.Args[2:])
			os.Exit(0)
		}
		os.Exit(1)
	}
}

func beGuard(socket int, argv []string) {
	unix.CloseOnExec(socket)
	ignoreSignals()
	nameThread("flock-guard") // so that "killall flock-etcd" leaves it its work
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	keepSpare()
	t, err := newTimer()
	if err != nil {
		return
	}
	wake, err := newKernelTimer(unix.SIGCONT)
	if err != nil {
		return
	}
	g := &guard{state{argv: argv, timer: t}, socket, wake, -1}
	g.run()
}

// wait waits for an order, for the timer or for the end of the command; if it may not block, it takes an order that is there.
// It returns false when nobody gives orders any more.
func (g *guard) wait(mayBlock bool) (o order, open bool) {
	fds := []unix.PollFd{
		{Fd: int32(g.socket), Events: unix.POLLIN},
		{Fd: int32(g.timer), Events: unix.POLLIN},
		{Fd: int32(g.command), Events: unix.POLLIN},
	}
	limit := -1
	switch {
	case !mayBlock:
		limit = 0
	case g.alive() && g.command < 0:
		limit = 20 // milliseconds; this kernel has no pidfd
	}
	n, _ := unix.Poll(fds, limit)
	if n > 0 && fds[0].Revents != 0 {
		if _, ok := receive(g.socket, &o); !ok {
			g.socket = -1
		}
	}
	return o, g.socket >= 0
}

// ignoreSignals keeps signals to the process group, such as those from the terminal, from ending the guard. They are caught,
// because the command would inherit that they are ignored.
func ignoreSignals() {
	ignored := make(chan os.Signal, 1)
	for s := syscall.Signal(1); s < 32; s++ {
		switch s {
		case unix.SIGKILL, unix.SIGSTOP, unix.SIGCHLD, unix.SIGURG, unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP:
		default:
			if !signal.Ignored(s) {
				signal.Notify(ignored, s)
			}
		}
	}
}

// attributes of the command: the kernel kills it when the guard dies, for the guard forks in its first thread, which lives
// as long as it does.
func (g *guard) attributes() syscall.SysProcAttr {
	return syscall.SysProcAttr{Setpgid: g.grouped, Pdeathsig: unix.SIGKILL}
}

// leaveSession keeps the guard out of what is sent to the whole group or session later on.
func (g *guard) leaveSession() {
	unix.Setsid()
	if fd, err := unix.PidfdOpen(g.pid, 0); err == nil {
		g.command = fd
	}
}

// signal sends a signal to the process group of the command, or to those of its descendants that are in it.
func (g *guard) signal(s syscall.Signal) {
	if g.grouped {
		unix.Kill(-g.pid, s)
		return
	}
	group, err := unix.Getpgid(g.pid)
	list, _ := descendants()
	for _, pid := range list {
		if its, err2 := unix.Getpgid(pid); err == nil && err2 == nil && its == group {
			unix.Kill(pid, s)
		}
	}
}

func (g *guard) reap() { reapChildren(g.noteEnd) }

func (g *guard) kill() (survivor int) {
	if g.alive() {
		unix.Kill(g.pid, unix.SIGKILL) // for which nothing can be lacking
	}
	return killDescendants(math.MaxInt64, g.noteEnd)
}

// moved tells the kernel the new limits.
func (g *guard) moved() { g.wake.setAt(g.limits.Kill, again) }

func (g *guard) send(r Report) { send(g.socket, &r.ReportHeader, r.Failure) }

// killDescendants kills all descendants of this process but the earlier ones, and returns when there are none. Orphans have
// become its children. It returns a descendant that may not be killed if no others are left, or any one after the limit.
func killDescendants(limit time.Duration, ended func(int, syscall.WaitStatus)) (survivor int) {
	unix.Close(spare)
	spare = -1
	gone := 0
	for pause := 1; ; pause = min(2*pause, 16) {
		survivor = 0
		list, err := descendants()
		killed := false
		for _, pid := range list {
			if err := unix.Kill(pid, unix.SIGKILL); err == unix.EPERM {
				survivor = pid
			} else {
				killed = true
			}
		}
		if len(list) == 0 && err == nil {
			gone++ // but one may have come and its parent have gone while the list was made
		}
		switch more := reapChildren(ended); {
		case !more || gone == 2:
			return 0
		case !killed && survivor != 0:
			return survivor
		case Now() > limit && len(list) > 0:
			return list[0]
		}
		unix.Poll(nil, pause) // milliseconds; one may have forked before it was killed
	}
}

// nameThread sets the name that ps and killall know.
func nameThread(name string) {
	if b, err := unix.BytePtrFromString(name); err == nil {
		unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(b)), 0, 0, 0)
	}
}

// spare is a descriptor that is closed when one is needed to look for descendants.
var spare = -1

func keepSpare() { spare, _ = unix.Open("/proc", unix.O_PATH|unix.O_CLOEXEC, 0) }

// reapChildren reaps the children that have ended, and reports whether there are others.
func reapChildren(ended func(pid int, w syscall.WaitStatus)) (more bool) {
	for {
		var w syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &w, unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR:
		case pid <= 0:
			return err == nil
		default:
			ended(pid, w)
		}
	}
}

// descendants returns the descendants of this process, without the earlier ones and theirs.
func descendants() ([]int, error) { return proc.Descendants(os.Getpid(), earlier) }

// A timer is readable when a time on the clock of Now has come.
type timer int

func newTimer() (timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC)
	return timer(fd), err
}

// set sets another time. Until then the timer is not readable.
func (t timer) set(at time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(int64(at), 1))}
	unix.TimerfdSettime(int(t), unix.TFD_TIMER_ABSTIME, &spec, nil)
}

// send sends a message, or drops it if the receiver is gone or is stopped with a full buffer.
func send(socket int, header any, text string) {
	b, err := binary.Append(nil, binary.NativeEndian, header)
	if err != nil {
		panic(err) // the header has no fixed size
	}
	unix.Sendto(socket, append(b, text...), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, nil)
}

// receive waits for a message, and returns false when the sender is gone.
func receive(socket int, header any) (text string, ok bool) {
	b := make([]byte, 16<<10)
	for {
		n, err := unix.Read(socket, b)
		if err == unix.EINTR || err == unix.ECONNRESET { // the sender has not read all that it got, but what it sent comes now
			continue
		}
		if err != nil || n <= 0 {
			return "", false
		}
		size, err := binary.Decode(b[:n], binary.NativeEndian, header)
		return string(b[size:n]), err == nil
	}
}
