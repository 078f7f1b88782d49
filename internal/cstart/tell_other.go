//go:build unix && !(linux && flock_linkname && (amd64 || arm64))

package cstart

import "syscall"

// TellsSignals says that Tell works.
const TellsSignals = false

// Tell is for programs whose handlers are not those of the Go runtime.
func Tell(syscall.Signal, int) {}

// Told is how many bytes Tell writes.
const Told = 12
