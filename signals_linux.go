//go:build flock_linkname

package main

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// catch installs the runtime's own handler for sig, which, with no
// os/signal.Notify about, does nothing.
func catch(sig syscall.Signal) {
	handled := (*uint32)(unsafe.Add(unsafe.Pointer(&handlingSig), 4*int(sig)))
	*handled = 1
	handler := sighandler
	setsig(uint32(sig), **(**uintptr)(unsafe.Pointer(&handler)))
}

// restoreMask blocks the signals that were blocked when flock was started: the
// runtime unblocks SIGSEGV, SIGURG and some others.
func restoreMask() {
	mask := unix.Sigset_t{}
	*(*[2]uint32)(unsafe.Pointer(&mask)) = initSigmask
	unix.PthreadSigmask(unix.SIG_SETMASK, &mask, nil)
}

// handlingSig is an array with one element a signal; the runtime's definition
// is the longer one, and so the one that the linker takes.
//
//go:linkname handlingSig runtime.handlingSig
var handlingSig [1]uint32

//go:linkname initSigmask runtime.initSigmask
var initSigmask [2]uint32

//go:linkname sighandler runtime.sighandler
func sighandler(sig uint32, info, context, gp unsafe.Pointer)
