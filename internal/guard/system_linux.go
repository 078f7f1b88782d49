package guard

import (
	"errors"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

const clock = unix.CLOCK_BOOTTIME

// attributes of the command: the kernel kills it when the guard dies, for the guard forks in its first thread, which
// lives as long as it does.
var attributes = syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}

// attributesOfGuard: the kernel continues it when its parent dies, for it may be stopped.
var attributesOfGuard = syscall.SysProcAttr{Pdeathsig: unix.SIGCONT}

// Check returns why no guard can run here, nil if one can. It changes nothing.
func Check() error {
	var isReaper int32
	err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&isReaper)), 0, 0, 0)
	if err == nil {
		err = setReaper(uintptr(isReaper))
	}
	if err != nil {
		return errors.New("prctl(2) for PR_SET_CHILD_SUBREAPER is refused: " + sys.Text(err))
	}
	if err := findsChildren(); err != nil {
		return errors.New("/proc does not list child processes here: " + sys.Text(err))
	}
	return nil
}

// setReaper sets whether descendants whose parent dies become children of this process, 1 or 0. A filter of system
// calls may refuse that.
func setReaper(is uintptr) error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, is, 0, 0, 0) }

// prepare has descendants whose parent dies become children of this process, and notes the children that it had before.
// It refuses where that cannot be, or they cannot be seen.
func prepare() error {
	if err := Check(); err != nil {
		return err
	}
	if err := setReaper(1); err != nil {
		return err
	}
	earlier, _ = proc.ChildrenOf(proc.Self, unix.Getpid())
	return nil
}

// findsChildren returns an error if /proc is not that of this pid namespace, or does not show the children of a
// process. In another one a number can be a stranger's.
func findsChildren() error {
	var link [20]byte
	n, err := unix.Readlink("/proc/self", link[:])
	self := unix.Getpid()
	if err == nil && string(link[:n]) != strconv.Itoa(self) {
		err = unix.ENOENT
	}
	if err == nil {
		_, err = proc.ChildrenOf(proc.Self, self)
	}
	return err
}

// setName sets the name for ps and killall.
func setName(name string) {
	unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&append([]byte(name), 0)[0])), 0, 0, 0)
}

// A timer of the kernel sends a signal to this process, stopped or not: timer_create(2).
type timer int32

func newTimer(signal unix.Signal) (t timer, err error) {
	event := struct { // struct sigevent
		value  uintptr
		signal int32
		notify int32 // 0: SIGEV_SIGNAL
		_      [64]byte
	}{signal: int32(signal)}
	_, _, errno := unix.Syscall(unix.SYS_TIMER_CREATE, clock,
		uintptr(unsafe.Pointer(&event)), uintptr(unsafe.Pointer(&t)))
	if errno != 0 {
		return t, errno
	}
	return t, nil
}

// set sets the time on the clock at which the signal is sent, and then again and again.
func (t timer) set(at time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(or0(at))),
		Interval: unix.NsecToTimespec(int64(50 * time.Millisecond))}
	unix.Syscall6(unix.SYS_TIMER_SETTIME, uintptr(t), absolute, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
}

const absolute = 1 // TIMER_ABSTIME, TFD_TIMER_ABSTIME

// or0 returns 0 for never, as timers have it.
func or0(at time.Duration) time.Duration {
	if at == never {
		return 0
	}
	return at
}

// A waker makes a descriptor readable at a time, and continues this process then, should it be stopped. The signal that
// does so wakes nobody who ignores it.
type waker struct {
	fd    int   // of timerfd_create(2)
	timer timer // to continue this process
}

func newWaker() (w waker, err error) {
	if w.timer, err = newTimer(unix.SIGCONT); err == nil {
		w.fd, err = unix.TimerfdCreate(clock, unix.TFD_CLOEXEC)
	}
	return w, err
}

// set sets the time. It returns how many milliseconds poll(2) may wait; -1: until a descriptor is readable.
func (w *waker) set(at time.Duration) (timeout int) {
	w.timer.set(at)
	unix.TimerfdSettime(w.fd, absolute, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(or0(at)))}, nil)
	return -1
}

// lastEndIsEvent says that the end of the last one of the family is an event.
const lastEndIsEvent = true

// run waits for the end of a child, says so, and waits until all who have ended are reaped.
func (w watch) run() {
	for {
		_, err := sys.Retry(func() (int, error) {
			return 0, unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT, nil)
		})
		unix.Write(w.thread, []byte{0})
		if err != nil { // there is no child, and none can come
			return
		}
		w.await() // all who have ended are reaped
	}
}

// reap reaps the children that have ended, and reports whether there are others.
func (w watch) reap(l *life) (hasChildren bool) {
	threadWaits := isReadable(w.fd)
	if threadWaits {
		unix.Read(w.fd, make([]byte, 1))
	}
	for {
		var status syscall.WaitStatus
		pid, err := sys.Wait4(-1, &status, syscall.WNOHANG)
		if pid > 0 {
			l.noteEnd(pid, status)
			continue
		}
		if threadWaits {
			w.tellThread()
		}
		return err == nil
	}
}

// continueAll continues the children of this process that are stopped.
func (f *family) continueAll() {
	for _, pid := range proc.Children(unix.Getpid()) {
		if s, err := proc.ReadStat(pid); err == nil && s.State == 'T' {
			unix.Kill(pid, unix.SIGCONT)
		}
	}
}

// endOf returns a descriptor that is readable when a child has ended; -1: there is none, as before Linux 5.3.
func endOf(child int) (fd int) {
	fd, _ = sys.AboveStandard(unix.PidfdOpen(child, 0))
	return fd
}

// startLeader starts a process that makes a process group, leads it, and ends: whoever leads a group cannot make a
// session, and setsid(1) would fork. If terminal is a descriptor of one, that is given to the group. The caller reaps
// the leader when somebody has joined.
func startLeader(terminal int) (leader int, err error) {
	var all, old unix.Sigset_t
	for i := range all.Val {
		all.Val[i]--
	}
	// No signal comes to the child, which is a copy of one thread, and makes nothing but system calls.
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &all, &old); err != nil {
		return 0, err
	}
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	flags, stack := uintptr(unix.SIGCHLD|unix.CLONE_VFORK), uintptr(0)
	if runtime.GOARCH == "s390x" {
		flags, stack = stack, flags
	}
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, flags, stack, 0, 0, 0, 0)
	if errno == 0 && pid == 0 {
		unix.RawSyscall(unix.SYS_SETPGID, 0, 0, 0)
		if terminal >= 0 {
			self, _, _ := unix.RawSyscall(unix.SYS_GETPID, 0, 0, 0)
			group := int32(self)
			unix.RawSyscall(unix.SYS_IOCTL, uintptr(terminal), unix.TIOCSPGRP, uintptr(unsafe.Pointer(&group)))
		}
		for {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	if errno != 0 {
		return 0, errno
	}
	return int(pid), nil
}

// A finder finds descendants, without new memory.
type finder struct {
	reader proc.Reader
	pids   []int
}

// find lists all descendants of this process that have not ended, but for those who descend from its earlier children,
// and those of whom /proc hides the parent, too.
func (f *family) find() {
	r, self := &f.finder.reader, unix.Getpid()
	pids, err := r.ChildrenOf(f.finder.pids[:0], proc.Self, self)
	if err != nil {
		f.list = f.findGroup(f.list) // /proc was unmounted, or mounted over
		return
	}
	pids = slices.DeleteFunc(pids, func(pid int) bool { return slices.Contains(earlier, pid) })
	for i, direct := 0, len(pids); i < len(pids); i++ {
		stat, err := r.Stat(pids[i])
		isChild := i < direct
		if !stat.IsDead() && (err == nil || isChild) {
			f.list = append(f.list, process{pids[i], stat.Start, isChild})
		}
		if err == nil {
			pids = r.Children(pids, pids[i], stat.Threads)
		}
	}
	f.finder.pids = pids
}

// has reports whether a process of the list has not ended yet.
func (f *family) has(p process) bool {
	if p.pid < 0 || p.start == 0 {
		return true
	}
	stat, err := f.finder.reader.Stat(p.pid)
	return err == nil && stat.Start == p.start && !stat.IsDead()
}

// send sends a signal to a process of the list, if it is still there. A process that is nobody's child here may be
// reaped at any time, so its number may be another's: a pidfd is not.
func (f *family) send(p process, s unix.Signal) error {
	if p.isChild {
		return unix.Kill(p.pid, s)
	}
	return sendTo(p.pid, s, func() bool { return f.has(p) })
}

// sendTo sends a signal by the pidfd of a process, if the number is still its own then, or by its number where there are
// no pidfds, Linux before 5.3, or a filter denies one of their calls.
func sendTo(pid int, s unix.Signal, isItsOwn func() bool) error {
	fd, err := unix.PidfdOpen(pid, 0)
	isOpen := err == nil
	if isOpen {
		defer unix.Close(fd)
	}
	if !isItsOwn() {
		return unix.ESRCH
	}
	if isOpen {
		err = unix.PidfdSendSignal(fd, s, nil, 0)
	}
	isFiltered := err == unix.EPERM && !(isOpen && maySignalByPidfd())
	if err == unix.ENOSYS || isFiltered {
		return unix.Kill(pid, s)
	}
	return err
}

// maySignalByPidfd tells a filter, which answers EPERM to all, from a process that may not be sent signals: this
// process may send one to itself.
func maySignalByPidfd() bool {
	fd, err := unix.PidfdOpen(unix.Getpid(), 0)
	if err != nil {
		return true // there is no descriptor for it
	}
	defer unix.Close(fd)
	return unix.PidfdSendSignal(fd, 0, nil, 0) == nil
}

// remains reports whether somebody is left: descendants without a parent are children.
func (f *family) remains(hasChildren bool) bool { return hasChildren }

// continueParent continues the parent of this process, if it is the one that has this number. Its number cannot be
// another's while it is the parent.
func continueParent(parent int) {
	sendTo(parent, unix.SIGCONT, func() bool { return unix.Getppid() == parent })
}
