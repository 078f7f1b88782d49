//go:build linux && !flock_linkname

package main

import "syscall"

// catch has nothing to do: the runtime has handlers for all signals.
func catch(syscall.Signal) {}

func restoreMask() {}
