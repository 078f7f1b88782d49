//go:build flock_linkname

package main

import (
	"sync/atomic"
	_ "unsafe" // for linkname
)

// allpLock is a mutex of the runtime that its monitor thread takes each time it looks whether a goroutine has been
// running or blocked for too long, some sixty times in the first ten milliseconds and after each system call that blocks.
// Nothing else takes it unless GOMAXPROCS changes. There is one goroutine here, so it stays locked: the monitor sleeps,
// and a wait for a lock wakes nobody.
//
//go:linkname allpLock runtime.allpLock
var allpLock uintptr

func init() {
	const locked = 1 // in lock_futex.go, lock_sema.go and lock_spinbit.go
	for !atomic.CompareAndSwapUintptr(&allpLock, 0, locked) {
	}
}
