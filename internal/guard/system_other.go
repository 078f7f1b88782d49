//go:build unix && (!linux || guard_portable)

package guard

import (
	"math"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

var attributes, attributesOfGuard syscall.SysProcAttr

func prepare() error { return nil }

func setName(string) {}

func children() (list []int, err error) { return nil, nil }

// An alarm sends a signal to this process, unless it is stopped.
type alarm struct{ *time.Timer }

func newAlarm(signal unix.Signal) (alarm, error) {
	return alarm{time.AfterFunc(math.MaxInt64, func() { unix.Kill(unix.Getpid(), signal) })}, nil
}

// set sets the time on the clock at which the signal is sent; 0: never.
func (a alarm) set(at time.Duration) {
	if a.Stop(); at != 0 && at != never {
		a.Reset(at - Now())
	}
}

// A process is the command with its process group, if it has one of its own, as kill(2) names it.
type process struct{ pid int }

func (p process) send(s unix.Signal) error { return unix.Kill(p.pid, s) }

func (p process) hasEnded() bool { return unix.Kill(p.pid, 0) == unix.ESRCH }

func members(target int) []process {
	if target == 0 {
		return nil
	}
	return []process{{target}}
}

// remain reports whether somebody is left in the process group.
func remain(target int, _ bool) bool { return target < 0 && unix.Kill(target, 0) == nil }

// killAll kills the command with its process group, if it has one of its own, and waits for its end if it is a child.
// It returns, or tells, the command if it may not be killed.
func killAll(target int, limit time.Duration, ended func(int, syscall.WaitStatus), tell func(pid int)) (survivor int) {
	if target == 0 {
		return 0
	}
	if unix.Kill(target, unix.SIGKILL) == unix.EPERM {
		survivor = max(target, -target)
		if tell == nil {
			return survivor
		}
		tell(survivor)
	}
	for (reapChildren(ended) || remain(target, false)) && Now() < limit {
		unix.Poll(nil, 1) // a millisecond
	}
	return 0
}
