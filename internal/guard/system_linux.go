//go:build !guard_portable

package guard

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/proc"
)

const clock = unix.CLOCK_BOOTTIME

// attributes of the command: the kernel kills it when the guard dies, for the guard forks in its first thread, which
// lives as long as it does.
var attributes = syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}

// attributesOfGuard: the kernel continues it when its parent dies, for it may be stopped.
var attributesOfGuard = syscall.SysProcAttr{Pdeathsig: unix.SIGCONT}

// prepare has descendants whose parent dies become children of this process, and notes the children that it had before.
// It refuses where they cannot be seen.
func prepare() error {
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	if err := Check(); err != nil {
		return err
	}
	before, _ := children()
	for _, pid := range before {
		earlier[pid] = true
	}
	return nil
}

// setName sets the name for ps and killall.
func setName(name string) {
	unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&append([]byte(name), 0)[0])), 0, 0, 0)
}

// An alarm is a timer of the kernel that sends a signal to this process, stopped or not: timer_create(2).
type alarm int32

func newAlarm(signal unix.Signal) (a alarm, err error) {
	event := struct { // struct sigevent
		value  uintptr
		signal int32
		notify int32 // 0: SIGEV_SIGNAL
		_      [64]byte
	}{signal: int32(signal)}
	_, _, errno := unix.Syscall(unix.SYS_TIMER_CREATE, clock,
		uintptr(unsafe.Pointer(&event)), uintptr(unsafe.Pointer(&a)))
	if errno != 0 {
		return a, errno
	}
	return a, nil
}

// set sets the time on the clock at which the signal is sent, and then again and again; 0: never.
func (a alarm) set(at time.Duration) {
	const absolute = 1 // TIMER_ABSTIME
	if at == never {
		at = 0
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(at)),
		Interval: unix.NsecToTimespec(int64(50 * time.Millisecond))}
	unix.Syscall6(unix.SYS_TIMER_SETTIME, uintptr(a), absolute, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
}

// A process is one of this moment: its number may be that of another one later on.
type process struct {
	pid int
	// see proc.Stat; empty: a child that /proc hides, whose number stays its own until this process reaps it
	start string
}

// send sends a signal to the process, if it is still there. A process that is nobody's child here may be reaped at any
// time, so its number may be another's: a pidfd is not.
func (p process) send(s unix.Signal) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err == unix.ENOSYS || err == unix.EPERM { // Linux before 5.3, or a filter
		if !p.isThere() {
			return unix.ESRCH
		}
		return unix.Kill(p.pid, s)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if !p.isThere() {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, s, nil, 0)
}

func (p process) isThere() bool {
	if p.start == "" {
		return true
	}
	its, ok := proc.ReadStat(p.pid)
	return ok && its.Start == p.start
}

// hasEnded reports whether the process has ended, and may wait for its parent.
func (p process) hasEnded() bool {
	if p.start == "" {
		return false
	}
	its, ok := proc.ReadStat(p.pid)
	return !ok || its.Start != p.start || its.State == 'Z'
}

// members returns all descendants of this process, but for those who descend from its earlier children, and those of
// whom /proc hides the parent, too.
func members(int) (list []process) {
	pids, _ := children()
	for direct := len(pids); len(pids) > 0; direct-- {
		pid := pids[0]
		pids = append(pids[1:], proc.Children(pid)...)
		if its, ok := proc.ReadStat(pid); ok || direct > 0 {
			list = append(list, process{pid, its.Start})
		}
	}
	return list
}

// remain reports whether descendants are left: those without a parent are children.
func remain(_ int, hasChildren bool) bool { return hasChildren }

// killAll kills the descendants of this process, but for the earlier ones. It returns when the kernel says that there
// are none. If some may not be killed it tells one, and waits for them; or, without tell, returns it when no others are
// left, or any one after the limit.
func killAll(_ int, limit time.Duration, ended func(int, syscall.WaitStatus), tell func(pid int)) (survivor int) {
	for pause, none := 1, 0; ; pause = min(2*pause, 16) {
		stubborn, killed := 0, false
		list := members(0)
		for _, p := range list {
			if p.send(unix.SIGKILL) == unix.EPERM {
				stubborn = p.pid
			} else {
				killed = true
			}
		}
		if _, err := children(); err == nil && len(list) == 0 {
			none++ // beside the earlier ones; but one may have come while the list was made
		}
		switch more := reapChildren(ended); {
		case !more || len(earlier) > 0 && none == 2:
			return 0
		case stubborn != 0 && tell != nil:
			tell(stubborn)
			tell = func(int) {}
		case tell != nil:
		case stubborn != 0 && !killed:
			return stubborn
		case Now() > limit && len(list) > 0:
			return list[0].pid
		}
		unix.Poll(nil, pause) // milliseconds; one may have forked before it was killed
	}
}

// earlier are the children that this process had before the guard.
var earlier = map[int]bool{}

// children returns the children of this process, but the earlier ones. All are those of its first thread, which makes
// some and gets the others from the kernel. They are listed even where /proc hides the processes of other users. It
// needs one descriptor and nothing else.
func children() (list []int, err error) {
	pid := unix.Getpid()
	all, err := proc.ChildrenOf(pid, pid)
	for _, child := range all {
		if !earlier[child] {
			list = append(list, child)
		}
	}
	return list, err
}
