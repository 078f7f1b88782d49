//go:build unix && !aix && flock_linkname

package main

import (
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What the Go runtime does to a process at its start, and a C program does
// not, would reach the command or the user. Here it is prevented, with
// variables of the runtime that want -ldflags=-checklinkname=0; a build
// without the tag flock_linkname does without (runtime_plain.go).
//
// So does AIX, where the runtime, with no poll server, would write a byte to
// descriptor 0 (netpoll_aix.go).

// islibrary says that this is a C shared library, set like runtime/cgo sets
// runtime.iscgo. In a library the runtime installs no signal handlers: the
// command gets every disposition as flock got it, and flock dies of signals
// like a C program. Nor does it open /dev/null in the place of closed standard
// descriptors, nor unblock most signals that flock found blocked, in the first
// thread or a later one. It also would not call main: init unsays it for as long
// as that takes.
//
//go:linkname islibrary runtime.islibrary
var islibrary = true

func init() { islibrary = false }

func tameRuntime() { islibrary = true }

// pollServerOnce is a sync.Once that has been done: without it, a standard
// descriptor in non-blocking mode has package os open an epoll or kqueue
// descriptor, and the lock file would not get the lowest free number.
//
//go:linkname pollServerOnce internal/poll.serverInit
var pollServerOnce = struct {
	done  uint32
	mutex struct{ state, sema uint32 }
}{done: 1}

// environ is the environment as the kernel gave it, behind the arguments.
// syscall.Environ drops duplicates, and the runtime sets GOTRACEBACK where the
// effective user is not the caller.
var environ = sync.OnceValue(func() (env []string) {
	for at := int(argc) + 1; ; at++ {
		entry := *(**byte)(unsafe.Add(unsafe.Pointer(argv), at*int(unsafe.Sizeof(argv))))
		if entry == nil {
			return env
		}
		env = append(env, unix.BytePtrToString(entry))
	}
})

//go:linkname argc runtime.argc
var argc int32

//go:linkname argv runtime.argv
var argv **byte

// defaultAction sets sig to SIG_DFL.
func defaultAction(sig syscall.Signal) { setsig(uint32(sig), 0) }

//go:linkname setsig runtime.setsig
func setsig(sig uint32, handler uintptr)
