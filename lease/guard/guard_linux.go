//go:build !guard_portable

package guard

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/sys"
)

const clock = unix.CLOCK_BOOTTIME

// attributes of the command: the kernel kills it when the guard dies, for the guard forks in its first thread, which
// lives as long as it does.
var attributes = syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}

// prepare has descendants whose parent dies become children of this process, and notes the children that it had before.
// It refuses where they cannot be seen. A name is for ps and killall.
func prepare(name string) error {
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	if name != "" {
		unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&append([]byte(name), 0)[0])), 0, 0, 0)
	}
	before, err := children()
	if err != nil {
		return errors.New("there is no /proc of this pid namespace that shows the children of a process: " +
			sys.Text(err))
	}
	for _, pid := range before {
		earlier[pid] = true
	}
	return nil
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
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(at)),
		Interval: unix.NsecToTimespec(int64(50 * time.Millisecond))}
	unix.Syscall6(unix.SYS_TIMER_SETTIME, uintptr(a), absolute, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
}

// killAll kills the children of this process, but the earlier ones; what they leave behind becomes its children, too.
// It returns when the kernel says that there are none. It returns one that may not be killed if no others are left, or
// any one after the limit.
func killAll(_ int, limit time.Duration, ended func(int, syscall.WaitStatus)) (survivor int) {
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

// children returns the children of this process, but the earlier ones. All are those of its first thread, which makes
// some and gets the others from the kernel. They are listed even where /proc hides the processes of other users. It
// needs one descriptor and nothing else.
func children() (list []int, err error) {
	fd, err := unix.Open("/proc/self/task/"+strconv.Itoa(os.Getpid())+"/children", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	b := make([]byte, 64<<10)
	n, err := unix.Read(fd, b)
	for _, word := range strings.Fields(string(b[:max(n, 0)])) {
		if pid, err := strconv.Atoi(word); err == nil && !earlier[pid] {
			list = append(list, pid)
		}
	}
	return list, err
}
