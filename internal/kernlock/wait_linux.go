package kernlock

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/cstart"
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
	event := sigevent{signo: int32(unix.SIGALRM), notify: sigevThreadID, tid: int32(unix.Gettid())}
	var timer int32
	if _, _, errno := unix.Syscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC,
		uintptr(unsafe.Pointer(&event)), uintptr(unsafe.Pointer(&timer))); errno != 0 {
		return nil, errno
	}
	spec := unix.ItimerSpec{
		Value:    unix.NsecToTimespec(int64(d)),
		Interval: unix.NsecToTimespec(int64(10 * time.Millisecond)),
	}
	if _, _, errno := unix.Syscall6(unix.SYS_TIMER_SETTIME, uintptr(timer), 0,
		uintptr(unsafe.Pointer(&spec)), 0, 0, 0); errno != 0 {
		return nil, errno
	}
	return func() {
		unix.Syscall(unix.SYS_TIMER_DELETE, uintptr(timer), 0, 0)
	}, nil
}

// sigevent is the kernel's struct sigevent, sigevThreadID its SIGEV_THREAD_ID.
type sigevent struct {
	value  uintptr
	signo  int32
	notify int32
	tid    int32
	_      [64]byte
}

const sigevThreadID = 4
