package sys

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Timer is a timer of the kernel that sends a signal to this process: timer_create(2).
type Timer int32

// NewTimer makes a timer on a clock, such as unix.CLOCK_MONOTONIC. The signal goes to a thread of this process or, with 0, to
// the process.
func NewTimer(clock int, signal unix.Signal, thread int) (t Timer, err error) {
	const threadID = 4 // SIGEV_THREAD_ID; 0 is SIGEV_SIGNAL
	event := sigevent{signo: int32(signal), tid: int32(thread)}
	if thread != 0 {
		event.notify = threadID
	}
	_, _, errno := unix.Syscall(unix.SYS_TIMER_CREATE, uintptr(clock), uintptr(unsafe.Pointer(&event)), uintptr(unsafe.Pointer(&t)))
	if errno != 0 {
		return t, errno
	}
	return t, nil
}

// SetAt sets the time on the clock at which the signal is sent, 0 for never, and after how long it is sent again each time.
func (t Timer) SetAt(at, again time.Duration) error { return t.set(1, at, again) } // TIMER_ABSTIME

// SetAfter counts from now.
func (t Timer) SetAfter(after, again time.Duration) error { return t.set(0, after, again) }

func (t Timer) set(flags uintptr, at, again time.Duration) error {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(at)), Interval: unix.NsecToTimespec(int64(again))}
	_, _, errno := unix.Syscall6(unix.SYS_TIMER_SETTIME, uintptr(t), flags, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// Delete deletes the timer.
func (t Timer) Delete() { unix.Syscall(unix.SYS_TIMER_DELETE, uintptr(t), 0, 0) }

// sigevent is the kernel's struct sigevent.
type sigevent struct {
	value  uintptr
	signo  int32
	notify int32
	tid    int32
	_      [64]byte
}
