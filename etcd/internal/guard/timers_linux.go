//go:build !guard_goroutine

package guard

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A timer is readable when a time on the clock of Now has come.
type timer int

func newTimer() (timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC)
	return timer(fd), err
}

// set sets another time. Until then the timer is not readable.
func (t timer) set(at time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(int64(at), 1))}
	unix.TimerfdSettime(int(t), unix.TFD_TIMER_ABSTIME, &spec, nil)
}

// A kernelTimer sends a signal to this process at a time on the clock of Now.
type kernelTimer int32

func newKernelTimer(signal syscall.Signal) (t kernelTimer, err error) {
	event := sigevent{signo: int32(signal)}
	_, _, errno := unix.Syscall(unix.SYS_TIMER_CREATE, unix.CLOCK_BOOTTIME, uintptr(unsafe.Pointer(&event)), uintptr(unsafe.Pointer(&t)))
	if errno != 0 {
		return t, errno
	}
	return t, nil
}

// set sets the time, 0 for never, and how often the signal is sent again.
func (t kernelTimer) set(at, again time.Duration) {
	const absolute = 1 // TIMER_ABSTIME
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(at)), Interval: unix.NsecToTimespec(int64(again))}
	unix.Syscall6(unix.SYS_TIMER_SETTIME, uintptr(t), absolute, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
}

// sigevent is the kernel's struct sigevent. Its notify 0 is SIGEV_SIGNAL.
type sigevent struct {
	value  uintptr
	signo  int32
	notify int32
	_      [64]byte
}
