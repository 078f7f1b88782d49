//go:build flock_linkname

package cstart

import (
	"math"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/early"
)

// OutlastAlarm keeps a SIGALRM from ending the wait. The command gets the default action, as with the reference. The
// handler is the runtime's own, which does nothing while os/signal.Notify is not used.
func OutlastAlarm() {
	handled := (*uint32)(unsafe.Add(unsafe.Pointer(&handlingSig), 4*int(syscall.SIGALRM)))
	*handled = 1
	handler := sighandler
	setsig(uint32(syscall.SIGALRM), **(**uintptr)(unsafe.Pointer(&handler)))
}

// RestoreMask blocks the signals that were blocked when flock was started. The runtime unblocks SIGSEGV, SIGURG and
// some others.
func RestoreMask() {
	mask := unix.Sigset_t{}
	*(*[2]uint32)(unsafe.Pointer(&mask)) = initSigmask
	unix.PthreadSigmask(unix.SIG_SETMASK, &mask, nil)
}

// handlingSig has one element for each signal. The runtime's definition is longer, so the linker takes that one.
//
//go:linkname handlingSig runtime.handlingSig
var handlingSig [1]uint32

//go:linkname initSigmask runtime.initSigmask
var initSigmask [2]uint32

//go:linkname sighandler runtime.sighandler
func sighandler(sig uint32, info, context, gp unsafe.Pointer)

// forceGCPeriod is after how long without a garbage collection the runtime's monitor starts one. While a system call
// blocks it sleeps for half of that, and has nothing else to do then: the supervisor of a command needs no timer.
//
//go:linkname forceGCPeriod runtime.forcegcperiod
var forceGCPeriod int64

// What package early has changed for the start of the runtime is set back here, before main.
func init() {
	forceGCPeriod = math.MaxInt64
	if slack := early.Result().Slack; slack != 0 {
		unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)
	}
	switch limit := early.FileLimit(); {
	case limit == nil:
	case limit.Cur+1 < limit.Max: // package syscall has raised it, as it would have done anyway
		originalFileLimit.Store(limit)
	default:
		syscall.Setrlimit(unix.RLIMIT_NOFILE, limit)
	}
}

// originalFileLimit is what a command gets, nil: the same as flock.
//
//go:linkname originalFileLimit syscall.origRlimitNofile
var originalFileLimit atomic.Pointer[syscall.Rlimit]
