//go:build amd64 || arm64

package locks

import (
	"time"

	"example.org/flock/internal/alarm"
	"example.org/flock/internal/failure"
)

// callUntil is callWithin for a wait that ends: it waits in one system call, which the signal of a timer ends.
func callUntil(deadline time.Time, call call, fd int, op Op) (answer, err error) {
	left := time.Until(deadline)
	if left <= 0 {
		answer, err = callWithin(Try, call, fd, op)
		if err == ErrConflict {
			err = ErrTimeout
		}
		return answer, err
	}
	var alarm alarm.Alarm
	if errno := alarm.Start(int64(left)); errno != 0 {
		return nil, failure.New(failure.ExOSErr, "cannot set up timer", errno)
	}
	defer alarm.Restore()
	defer alarm.Stop()
	for {
		answer = call(fd, op, true)
		if !isInterrupted(answer) {
			return answer, toConflict(answer)
		}
		if !time.Now().Before(deadline) {
			return answer, ErrTimeout
		}
	}
}
