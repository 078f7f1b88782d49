//go:build !guard_goroutine

package guard

import (
	"encoding/json"
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
	Reports <-chan Message

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
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return nil, errors.New("there is no /proc of this pid namespace, which shows the children of a process")
	}
	before, err := children()
	if err != nil {
		return nil, errors.New("cannot read /proc/self/task: " + sys.Text(err))
	}
	for _, pid := range before {
		earlier[pid] = true // of a program that became flock-etcd
	}
	wake, err := newKernelTimer(unix.SIGCONT)
	if err != nil {
		return nil, err
	}
	kill, err := newKernelTimer(unix.SIGKILL)
	if err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, errors.New("cannot make a socket: " + sys.Text(err))
	}
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // the descendants of a guard that is killed become our children
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
	reports := make(chan Message)
	g := &Guard{Reports: reports, socket: pair[0], pid: pid, wake: wake, kill: kill}
	go func() {
		defer close(reports)
		for m, ok := receive(g.socket); ok; m, ok = receive(g.socket) {
			reports <- m
			runtime.Gosched() // whoever waits for it goes on in this thread, which would wait for the next one
		}
		syscall.Wait4(pid, &g.end, 0, nil)
	}()
	return g, nil
}

// KilledBy returns the signal that the guard died by, when the Reports are closed; 0: none.
func (g *Guard) KilledBy() syscall.Signal { return max(g.end.Signal(), 0) } // -1: none

// Give gives an order. New limits are for this process, too.
func (g *Guard) Give(m Message) {
	if m.Limits != (Limits{}) {
		g.wake.setAt(m.Limits.Kill, again)
		g.kill.setAt(m.Limits.End, 0)
	}
	send(g.socket, m)
	if m.Kind == Abort {
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

// KillOrphans kills what the guard leaves behind when it was killed itself, and closes it. It returns a process that may not
// be killed, or is not dead after a second, if there is one. The kernel continues this process if it is stopped meanwhile.
func (g *Guard) KillOrphans() (survivor int) {
	g.kill.setAt(0, 0)
	defer g.Close()
	return killChildren(Now()+time.Second, func(int, syscall.WaitStatus) {})
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
	unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&[]byte("flock-guard\x00")[0])), 0, 0, 0) // for ps and killall
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	keepSpare()
	t, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC)
	if err != nil {
		return
	}
	wake, err := newKernelTimer(unix.SIGCONT)
	if err != nil {
		return
	}
	g := &guard{state{argv: argv, timer: timer(t)}, socket, wake, -1}
	g.run()
}

// wait waits for an order, for the timer or for the end of the command; if it may not block, it takes an order that is there.
// It returns false when nobody gives orders any more.
func (g *guard) wait(mayBlock bool) (m Message, open bool) {
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
		var ok bool
		if m, ok = receive(g.socket); !ok {
			g.socket = -1
		}
	}
	return m, g.socket >= 0
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
func (g *guard) attributes() syscall.SysProcAttr { return syscall.SysProcAttr{Pdeathsig: unix.SIGKILL} }

// caller returns the process id of flock-etcd.
func (g *guard) caller() int { return os.Getppid() }

// leaveSession keeps the guard out of what is sent to the whole group or session later on.
func (g *guard) leaveSession() {
	unix.Setsid()
	if fd, err := unix.PidfdOpen(g.pid, 0); err == nil {
		g.command = fd
	}
}

func (g *guard) reap() { reapChildren(g.noteEnd) }

func (g *guard) kill() (survivor int) {
	if g.alive() {
		unix.Kill(g.pid, unix.SIGKILL) // for which nothing can be lacking
	}
	return killChildren(math.MaxInt64, g.noteEnd)
}

// moved tells the kernel the new limits.
func (g *guard) moved() { g.wake.setAt(g.limits.Kill, again) }

func (g *guard) send(m Message) { send(g.socket, m) }

// killChildren kills the children of this process, but the earlier ones; what they leave behind becomes its children, too. It
// returns when the kernel says that there are none. It returns one that may not be killed if no others are left, or any one
// after the limit.
func killChildren(limit time.Duration, ended func(int, syscall.WaitStatus)) (survivor int) {
	unix.Close(spare)
	spare = -1
	for pause, none := 1, 0; ; pause = min(2*pause, 16) {
		list, err := children()
		stubborn, killed := 0, false
		for _, pid := range list {
			if unix.Kill(pid, unix.SIGKILL) == unix.EPERM {
				stubborn = pid
			} else {
				killed = true
			}
		}
		if err == nil && len(list) == 0 {
			none++ // beside the earlier ones; but one may have come while the list was made
		}
		switch more := reapChildren(ended); {
		case !more || len(earlier) > 0 && none == 2:
			return 0
		case stubborn != 0 && !killed:
			return stubborn
		case Now() > limit && len(list) > 0:
			return list[0]
		}
		unix.Poll(nil, pause) // milliseconds; one may have forked before it was killed
	}
}

// earlier are the children that this process had before the guard.
var earlier = map[int]bool{}

// children returns the children of this process, but the earlier ones. The kernel lists them even where /proc hides the
// processes of other users.
func children() (list []int, err error) {
	b := make([]byte, 64<<10)
	n, err := readProc("/proc/self/task", b, unix.ReadDirent)
	_, _, tasks := unix.ParseDirent(b[:max(n, 0)], -1, nil)
	for _, task := range tasks {
		n, failure := readProc("/proc/self/task/"+task+"/children", b, unix.Read)
		if failure != nil && failure != unix.ENOENT && failure != unix.ESRCH || failure == unix.ENOENT && len(tasks) == 1 {
			err = failure // or else the thread is gone
		}
		for _, word := range strings.Fields(string(b[:max(n, 0)])) {
			if pid, err := strconv.Atoi(word); err == nil && !earlier[pid] {
				list = append(list, pid)
			}
		}
	}
	return list, err
}

// readProc reads what fits of a file, or of a directory. It needs one descriptor and nothing else.
func readProc(name string, b []byte, read func(int, []byte) (int, error)) (n int, err error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	return read(fd, b)
}

// spare is a descriptor that is closed when one is needed to look for children.
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

// A timer is readable when a time on the clock of Now has come.
type timer int

// set sets another time. Until then the timer is not readable.
func (t timer) set(at time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(int64(at), 1))}
	unix.TimerfdSettime(int(t), unix.TFD_TIMER_ABSTIME, &spec, nil)
}

// send sends a message, or drops it if the receiver is gone or is stopped with a full buffer.
func send(socket int, m Message) {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // no message has what cannot be written
	}
	unix.Sendto(socket, b, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, nil)
}

// receive waits for a message, and returns false when the sender is gone.
func receive(socket int) (m Message, ok bool) {
	b := make([]byte, 64<<10)
	for {
		n, err := unix.Read(socket, b)
		if err == unix.EINTR || err == unix.ECONNRESET { // the sender has not read all that it got, but what it sent comes now
			continue
		}
		return m, err == nil && n > 0 && json.Unmarshal(b[:n], &m) == nil
	}
}
