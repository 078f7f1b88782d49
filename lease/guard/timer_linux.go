package guard

import (
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/sys"
)

// A kernelTimer is a timer of the kernel on CLOCK_BOOTTIME that sends a signal to this process: timer_create(2).
type kernelTimer int32

func newKernelTimer(signal unix.Signal) (t kernelTimer, err error) {
	event := struct { // struct sigevent
		value  uintptr
		signal int32
		notify int32 // 0: SIGEV_SIGNAL
		_      [64]byte
	}{signal: int32(signal)}
	_, _, errno := unix.Syscall(unix.SYS_TIMER_CREATE, unix.CLOCK_BOOTTIME, uintptr(unsafe.Pointer(&event)),
		uintptr(unsafe.Pointer(&t)))
	if errno != 0 {
		return t, errors.New("cannot make a timer: " + sys.Text(errno))
	}
	return t, nil
}

// setAt sets the time on the clock at which the signal is sent, 0 for never, and after how long it is sent again each time.
func (t kernelTimer) setAt(at, again time.Duration) {
	const absolute = 1 // TIMER_ABSTIME
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(at)), Interval: unix.NsecToTimespec(int64(again))}
	unix.Syscall6(unix.SYS_TIMER_SETTIME, uintptr(t), absolute, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
}
