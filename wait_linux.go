package main

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attemptWithin waits until o.deadline, in one system call that a timer's
// signal interrupts.
func attemptWithin(call lockCall, f *lockFile, o *options) error {
	left := time.Until(o.deadline)
	if left <= 0 {
		return attemptOnce(call, f, o, errTimeout)
	}
	stop, err := startAlarm(left)
	if err != nil {
		return &stepError{timing, "", err}
	}
	defer stop()
	for {
		err := call(f, o, true)
		if err != syscall.EINTR {
			return err
		}
		if !time.Now().Before(o.deadline) {
			return errTimeout
		}
	}
}

// startAlarm has SIGALRM sent to this thread after d, and then every 10 ms,
// lest the first come just before the call that it is to interrupt.
func startAlarm(d time.Duration) (stop func(), err error) {
	if err := interruptBy(unix.SIGALRM); err != nil {
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

// interruptBy has a signal end a blocked system call with EINTR instead of
// resuming it, as all signal handlers of the Go runtime ask for.
func interruptBy(sig unix.Signal) error {
	catch(sig)
	var action sigaction
	const maskSize = unsafe.Sizeof(action.mask)
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig),
		0, uintptr(unsafe.Pointer(&action)), maskSize, 0, 0); errno != 0 {
		return errno
	}
	action.flags &^= saRestart
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(&action)), 0, maskSize, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

const saRestart = 0x10000000 // SA_RESTART

// outlastAlarm keeps a SIGALRM of somebody's from ending a wait.
func outlastAlarm() { catch(unix.SIGALRM) }
