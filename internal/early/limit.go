//go:build linux && (amd64 || arm64)

package early

import (
	"syscall"
	"unsafe"
)

// What the Go runtime takes at its start in every case, in bytes, beside what the program has: a little less than what
// was measured, which is 700,620 and 40,174 KiB with Go 1.26 on amd64. With just that it mostly ends the process with a
// dump of its stacks all the same, but what can work is not refused. And what is enough in every case.
const (
	leastAddressSpace  = 700_000 << 10
	leastData          = 40_000 << 10
	enoughAddressSpace = 800_000_000
	enoughData         = 50_000_000
)

// lack says which limit of memory leaves less than so many bytes; "" if none does. It tells the user what is enough.
func lack(addressSpace, data uintptr) (limit string) {
	if isLimited(syscall.RLIMIT_AS) && !canMap(addressSpace, syscall.PROT_NONE) {
		return "ulimit -v leaves less than the 800 MB that this needs"
	}
	if isLimited(syscall.RLIMIT_DATA) && !canMap(data, syscall.PROT_READ|syscall.PROT_WRITE) {
		return "ulimit -d leaves less than the 50 MB that this needs"
	}
	return ""
}

// mayLackMemory reports whether a limit of memory may keep the Go runtime from starting.
func mayLackMemory() bool { return len(lack(enoughAddressSpace, enoughData)) > 0 }

func isLimited(resource uintptr) bool {
	const infinity = ^uint64(0)
	limit := syscall.Rlimit{Cur: infinity}
	_, errno := call(syscall.SYS_PRLIMIT64, 0, resource, 0, address(unsafe.Pointer(&limit)))
	return errno == 0 && limit.Cur != infinity
}

// canMap reports whether so many bytes can be mapped, as far as a limit of memory is concerned.
func canMap(size, protection uintptr) bool {
	const flags, noFile = syscall.MAP_PRIVATE | syscall.MAP_ANONYMOUS, ^uintptr(0)
	at, _, errno := syscall.RawSyscall6(syscall.SYS_MMAP, 0, size, protection, flags, noFile, 0)
	if errno == 0 {
		call(syscall.SYS_MUNMAP, at, size, 0, 0)
	}
	return errno != syscall.ENOMEM
}
