//go:build flock_linkname

package cstart

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// CatchAlarm keeps a SIGALRM from ending the wait. The command gets the default action, as with util-linux.
func CatchAlarm() {
	// The runtime's own handler does nothing if the runtime believes that it has set it, and os/signal.Notify is not
	// used. Otherwise it would end the process.
	setHandled(syscall.SIGALRM)
	function := sighandler // a pointer to a pointer to the code
	setsig(uint32(syscall.SIGALRM), **(**uintptr)(unsafe.Pointer(&function)))
}

// RestoreMask blocks the signals that were blocked when flock was started. The runtime unblocks SIGSEGV, SIGURG and
// some others.
func RestoreMask() {
	mask := unix.Sigset_t{}
	*(*[2]uint32)(unsafe.Pointer(&mask)) = initSigmask
	unix.PthreadSigmask(unix.SIG_SETMASK, &mask, nil)
}

// isBlocked reports whether a signal was blocked when flock was started.
func isBlocked(sig syscall.Signal) bool {
	bit := uint(sig - 1)
	return initSigmask[bit/32]>>(bit%32)&1 != 0
}

// setHandled has the runtime believe that it has set a handler for a signal.
func setHandled(sig syscall.Signal) { (*[32]uint32)(unsafe.Pointer(&handlingSig))[sig] = 1 }

// handlingSig has one element for each signal. The runtime's definition is longer, so the linker takes that one.
//
//go:linkname handlingSig runtime.handlingSig
var handlingSig [1]uint32

//go:linkname initSigmask runtime.initSigmask
var initSigmask [2]uint32

//go:linkname sighandler runtime.sighandler
func sighandler(sig uint32, info, context, gp unsafe.Pointer)
