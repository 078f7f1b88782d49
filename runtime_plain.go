//go:build unix && (aix || !flock_linkname)

package main

import "syscall"

// The Go runtime as it is: it has handlers for all signals.

func tameRuntime() {}

func environ() []string { return syscall.Environ() }

func defaultAction(syscall.Signal) {}
