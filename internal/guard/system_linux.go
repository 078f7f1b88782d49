package guard

import (
	"errors"
	"runtime"
	"slices"
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

// Check has descendants whose parent dies become children of this process, and notes the children that it has already.
// It returns why no guard can run here, nil if one can: a filter of system calls may refuse that, or /proc is not that
// of this pid namespace, where a number can be a stranger's, or does not show the children of a process.
func Check() (err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return errors.New("prctl(2) for PR_SET_CHILD_SUBREAPER is refused: " + sys.Text(err))
	}
	if earlier, err = proc.ChildrenOf(proc.Self, unix.Getpid()); err != nil {
		return errors.New("/proc does not list child processes here: " + sys.Text(err))
	}
	return nil
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
	if at == never {
		at = 0 // none
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(at)),
		Interval: unix.NsecToTimespec(int64(50 * time.Millisecond))}
	const absolute = 1 // TIMER_ABSTIME
	unix.Syscall6(unix.SYS_TIMER_SETTIME, uintptr(t), absolute, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
}

// mostSleep is how long a guard may wait. While the machine sleeps, the time of poll(2) stands still; then the signal of
// a timer ends the wait.
const mostSleep = time.Hour

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

// reap is reapAll, when the thread has found that somebody has ended.
func (w watch) reap(note func(pid int, w syscall.WaitStatus)) (hasChildren bool) {
	if threadWaits := isReadable(w.fd); threadWaits {
		unix.Read(w.fd, make([]byte, 1))
		defer w.tellThread()
	}
	return reapAll(note)
}

// continueAll continues the children of this process that are stopped.
func (f *family) continueAll() {
	for _, pid := range proc.Children(unix.Getpid()) {
		if s, err := proc.ReadStat(pid); err == nil && s.State == 'T' {
			unix.Kill(pid, unix.SIGCONT)
		}
	}
}

// startLeader starts a process that makes a process group, leads it, and ends: whoever leads a group cannot make a
// session, and setsid(1) would fork. The caller reaps the leader when somebody has joined.
func startLeader() (leader int, err error) {
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

// send sends a signal to a process of the list, if it is still there. One that is nobody's child here may be reaped at
// any time, and its number be another's: so that is asked right before. Numbers are given out in turn, so it does not
// come again between the two calls.
func (f *family) send(p process, s unix.Signal) error {
	if !p.isChild && !f.has(p) {
		return unix.ESRCH
	}
	return unix.Kill(p.pid, s)
}

// remains reports whether somebody is left: descendants without a parent are children. Children from before the guard
// are not of the family, but are children for as long as they like; then two looks that find nobody tell. One is not
// enough: somebody may have come meanwhile.
func (f *family) remains(hasChildren bool) bool {
	return hasChildren && (len(earlier) == 0 || f.empty < 2)
}
