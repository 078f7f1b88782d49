//go:build amd64 || arm64

package locks

import (
	"time"

	"example.org/flock/internal/alarm"
	"example.org/flock/internal/failure"
)

// acquireUntil waits until the deadline in one system call, which the signal of a timer ends.
func acquireUntil(call call, fd int, op Op, deadline time.Time) error {
	left := time.Until(deadline)
	if left <= 0 {
		err := repeat(call, fd, op, false)
		if err == ErrConflict {
			err = ErrTimeout
		}
		return err
	}
	var alarm alarm.Alarm
	if errno := alarm.Start(int64(left)); errno != 0 {
		return failure.New(failure.ExOSErr, "cannot set up timer", errno)
	}
	defer alarm.Restore()
	defer alarm.Stop()
	for {
		err := call(fd, op, true)
		if !isInterrupted(err) {
			return toConflict(err)
		}
		if !time.Now().Before(deadline) {
			return ErrTimeout
		}
	}
}
