//go:build amd64 || arm64

// Package alarm makes a timer of the kernel end a blocked system call: the call returns EINTR.
//
// It is for Linux on amd64 and arm64, and needs nothing of the Go runtime: package early uses it where that has not
// started. The signal goes to the process. Of its threads the kernel mostly takes the first one, so that is the one
// that must make the call. The signal comes again, should it go to another thread once.
package alarm

import (
	"syscall"
	"unsafe"
)

// An Alarm is a timer that sends SIGALRM, with the disposition of SIGALRM and the signal mask from before.
type Alarm struct {
	mask   uint64 // the kernel's sigset_t
	timer  int32
	before sigaction
}

// sigaction is the kernel's struct sigaction, on amd64 and arm64.
type sigaction struct{ handler, flags, restorer, mask uintptr }

// On the signal stack of the thread, if it has one: those of goroutines are too small.
const onStack = 0x08000000 // SA_ONSTACK; without SA_RESTART a call that is interrupted returns EINTR

// handler returns the address of a signal handler that does nothing, and restorer that of the function that ends it,
// where the architecture requires one.
func handler() uintptr
func restorer() (address, flag uintptr)

// Start catches SIGALRM and makes the kernel send it after some nanoseconds, and then every 10 ms, because the first
// one may come before the call that it should interrupt. It unblocks SIGALRM, which a process can have blocked from its
// start.
func (a *Alarm) Start(after int64) syscall.Errno {
	catch := sigaction{handler: handler()}
	catch.restorer, catch.flags = restorer()
	catch.flags |= onStack
	if errno := setAction(&catch, &a.before); errno != 0 {
		return errno
	}
	alarm := uint64(1) << (syscall.SIGALRM - 1)
	errno := setMask(unblock, &alarm, &a.mask)
	if errno != 0 {
		a.Restore()
		return errno
	}
	const monotonic = 1
	errno = call(syscall.SYS_TIMER_CREATE, monotonic, 0, unsafe.Pointer(&a.timer))
	if errno != 0 {
		setMask(replace, &a.mask, nil)
		a.Restore()
		return errno
	}
	var spec struct{ interval, value syscall.Timespec }
	spec.interval.Nsec = 10e6
	spec.value.Sec, spec.value.Nsec = after/1e9, after%1e9
	errno = call(syscall.SYS_TIMER_SETTIME, uintptr(a.timer), 0, unsafe.Pointer(&spec))
	if errno != 0 {
		a.Stop()
		a.Restore()
	}
	return errno
}

// Stop deletes the timer and restores the signal mask. SIGALRM stays caught. The order matters: a signal of the timer
// that came after the mask was restored would be pending in the command, too.
func (a *Alarm) Stop() {
	call(syscall.SYS_TIMER_DELETE, uintptr(a.timer), 0, nil)
	setMask(replace, &a.mask, nil)
}

// Restore restores the disposition of SIGALRM.
func (a *Alarm) Restore() { setAction(&a.before, nil) }

func setAction(new, old *sigaction) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGALRM), uintptr(unsafe.Pointer(new)),
		uintptr(unsafe.Pointer(old)), unsafe.Sizeof(new.mask), 0, 0)
	return errno
}

// How setMask changes the mask of this thread.
const (
	unblock = 1 // SIG_UNBLOCK
	replace = 2 // SIG_SETMASK
)

func setMask(how uintptr, new, old *uint64) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, how, uintptr(unsafe.Pointer(new)),
		uintptr(unsafe.Pointer(old)), unsafe.Sizeof(*new), 0, 0)
	return errno
}

func call(number, a, b uintptr, c unsafe.Pointer) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(number, a, b, uintptr(c), 0, 0, 0)
	return errno
}
