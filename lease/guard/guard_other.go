//go:build unix && (!linux || guard_portable)

package guard

import (
	"math"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

var attributes syscall.SysProcAttr

func prepare(string) error { return nil }

// An alarm sends a signal to this process, unless it is stopped.
type alarm struct{ *time.Timer }

func newAlarm(signal unix.Signal) (alarm, error) {
	return alarm{time.AfterFunc(math.MaxInt64, func() { unix.Kill(unix.Getpid(), signal) })}, nil
}

// set sets the time on the clock at which the signal is sent; 0: never.
func (a alarm) set(at time.Duration) {
	if a.Stop(); at != 0 {
		a.Reset(at - Now())
	}
}

// killAll kills the command with its process group, if it has one of its own, and waits for its end if it is a child.
// It returns the command if it may not be killed.
func killAll(target int, limit time.Duration, ended func(int, syscall.WaitStatus)) (survivor int) {
	if target == 0 {
		return 0
	}
	if unix.Kill(target, unix.SIGKILL) == unix.EPERM {
		return max(target, -target)
	}
	for reapChildren(ended) && Now() < limit {
		unix.Poll(nil, 1) // a millisecond
	}
	return 0
}
