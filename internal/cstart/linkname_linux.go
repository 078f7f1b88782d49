//go:build flock_linkname

package cstart

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// CatchAlarm keeps a SIGALRM from ending the wait. The command gets the default action, as with util-linux. The
// handler is the runtime's own, which does nothing while os/signal.Notify is not used. The runtime is told that it
// handles the signal, as if it had set the handler itself: otherwise the handler would end the process.
func CatchAlarm() {
	const perElement = unsafe.Sizeof(handlingSig[0])
	*(*uint32)(unsafe.Add(unsafe.Pointer(&handlingSig), perElement*uintptr(syscall.SIGALRM))) = 1
	function := sighandler // a pointer to a pointer to the code
	code := **(**uintptr)(unsafe.Pointer(&function))
	setsig(uint32(syscall.SIGALRM), code)
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

// handlingSig has one element for each signal. The runtime's definition is longer, so the linker takes that one.
//
//go:linkname handlingSig runtime.handlingSig
var handlingSig [1]uint32

//go:linkname initSigmask runtime.initSigmask
var initSigmask [2]uint32

//go:linkname sighandler runtime.sighandler
func sighandler(sig uint32, info, context, gp unsafe.Pointer)
