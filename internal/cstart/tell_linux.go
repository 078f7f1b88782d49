//go:build flock_linkname && (amd64 || arm64)

package cstart

import "syscall"

// tellTo is the descriptor that a signal is told to.
var tellTo int32

// Tell has a signal do nothing but be told to a descriptor from now on: the handler writes the first Told bytes of the
// siginfo_t. So no goroutine has to wake up for that, and no thread of the runtime. In a child that is about to execute
// a program the runtime replaces the handler by the default action: there the signal is for the program.
func Tell(sig syscall.Signal, fd int) {
	tellTo = int32(fd)
	setsig(uint32(sig), tellAddress())
	setHandled(sig)
}

// Told is how much is written of a siginfo_t: the number of the signal, an error, and si_code, of four bytes each.
const Told = 12

// tellAddress returns the address of a signal handler that writes its siginfo_t to tellTo.
func tellAddress() uintptr
