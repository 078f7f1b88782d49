//go:build flock_linkname && (amd64 || arm64)

package cstart

import (
	"sync/atomic"
	"syscall"
)

// runtimeHandler is the signal handler of the Go runtime, which does not tell who has sent a signal.
var runtimeHandler uintptr

// sent has, for each signal, 1 if a process has sent it: kill(2), as opposed to the kernel, which sends what is typed
// on a terminal.
var sent [65]uint32

// NoteSender has SentByProcess know who sends a signal, which must be caught already.
func NoteSender(sig syscall.Signal) {
	if runtimeHandler == 0 {
		runtimeHandler = getsig(uint32(sig))
	}
	setsig(uint32(sig), handlerAddress())
}

// SentByProcess reports whether a process has sent the signal since it was last asked; false where nothing tells.
func SentByProcess(sig syscall.Signal) bool { return atomic.SwapUint32(&sent[sig], 0) != 0 }

// handlerAddress returns the address of a signal handler that writes sent, and jumps to runtimeHandler.
func handlerAddress() uintptr
