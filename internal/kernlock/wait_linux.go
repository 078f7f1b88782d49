package kernlock

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/cstart"
	"example.org/flock/internal/sys"
)

// acquireUntil waits until the deadline in one system call, which the signal of a timer interrupts.
func acquireUntil(call Call, fd int, op Op, limit Limit) error {
	left := time.Until(limit.Deadline)
	if left <= 0 {
		err := try(call, fd, op)
		if err == ErrConflict {
			err = ErrTimeout
		}
		return err
	}
	stop, err := startAlarm(left)
	if err != nil {
		return &TimerError{err}
	}
	defer stop()
	for {
		err := call(fd, op, true)
		if err != syscall.EINTR {
			return waitAnswer(err)
		}
		if !time.Now().Before(limit.Deadline) {
			return ErrTimeout
		}
	}
}

// startAlarm has SIGALRM sent to this thread after d, and then every 10 ms: the first signal may come just before the
// call that it is to interrupt.
func startAlarm(d time.Duration) (stop func(), err error) {
	if err := cstart.InterruptBy(unix.SIGALRM); err != nil {
		return nil, err
	}
	timer, err := sys.NewTimer(unix.CLOCK_MONOTONIC, unix.SIGALRM, unix.Gettid())
	if err != nil {
		return nil, err
	}
	return timer.Delete, timer.SetAfter(d, 10*time.Millisecond)
}
