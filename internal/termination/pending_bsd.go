//go:build freebsd || netbsd

package termination

import (
	"runtime"
	"syscall"
	"unsafe"
)

// The answer of sigpending(2) has the signals that came to the process, until one of its threads handles them: FreeBSD
// sys/kern/kern_sig.c, sys_sigpending and tdsendsignal; NetBSD sys/kern/sys_sig.c, sigpending1. DragonFly has handed
// them to a thread by then (sys/kern/kern_sig.c, lwpsignal), and macOS answers for the calling thread.
func init() {
	number := map[string]uintptr{"freebsd": 343, "netbsd": 292}[runtime.GOOS]
	pending = func() uint32 {
		var set [4]uint32 // sigset_t
		syscall.RawSyscall(number, uintptr(unsafe.Pointer(&set)), 0, 0)
		return set[0]
	}
}
