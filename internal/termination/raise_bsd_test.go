//go:build freebsd || netbsd

package termination

import (
	"runtime"
	"syscall"
	"unsafe"
)

// For this thread alone, as on Linux: thr_self(2) and thr_kill(2), or _lwp_self(2) and _lwp_kill(2).
func init() {
	numbers := map[string]struct{ self, kill uintptr }{"freebsd": {432, 433}, "netbsd": {311, 318}}[runtime.GOOS]
	raise = func(sig syscall.Signal) {
		var id int
		answer, _, _ := syscall.RawSyscall(numbers.self, uintptr(unsafe.Pointer(&id)), 0, 0)
		if id == 0 { // NetBSD returns it
			id = int(answer)
		}
		syscall.RawSyscall(numbers.kill, uintptr(id), uintptr(sig), 0)
	}
}
