//go:build amd64 || arm64

package locks

import (
	"syscall"
	"time"

	"example.org/flock/internal/alarm"
	"example.org/flock/internal/failure"
)

// answerUntil is answerWithin for a wait that ends: it waits in one system call, which the signal of a timer ends.
func answerUntil(deadline time.Time, call call, fd int, op Op) error {
	left := time.Until(deadline)
	if left <= 0 {
		return answerWithin(Try, call, fd, op)
	}
	var alarm alarm.Alarm
	if errno := alarm.Start(int64(left)); errno != 0 {
		return failure.New(failure.ExOSErr, "cannot set up timer", errno)
	}
	defer alarm.Restore()
	defer alarm.Stop()
	for {
		answer := call(fd, op, true)
		if !isInterrupted(answer) {
			return answer
		}
		if !time.Now().Before(deadline) {
			return syscall.EAGAIN
		}
	}
}
