//go:build linux && (amd64 || arm64)

package early

import (
	"syscall"
	"unsafe"
)

// call makes a system call with up to four arguments.
func call(number, a, b, c, d uintptr) (uintptr, syscall.Errno) {
	r, _, errno := syscall.RawSyscall6(number, a, b, c, d, 0, 0)
	return r, errno
}

func address(p unsafe.Pointer) uintptr { return uintptr(p) }

// open opens a file. It tries again if a signal interrupts the call.
func open(name unsafe.Pointer, flags int) (int, syscall.Errno) {
	const here = ^uintptr(99) // AT_FDCWD, -100
	for {
		fd, errno := call(syscall.SYS_OPENAT, here, address(name), uintptr(flags), 0o666)
		if errno != syscall.EINTR {
			return int(fd), errno
		}
	}
}

func closeFd(fd int) { call(syscall.SYS_CLOSE, uintptr(fd), 0, 0, 0) }

// exit ends the process.
func exit(status int) {
	for {
		call(syscall.SYS_EXIT_GROUP, uintptr(status), 0, 0, 0)
	}
}

// now returns the time of CLOCK_MONOTONIC in nanoseconds. It fails where a system call filter forbids clock_gettime(2),
// which the vDSO could still do.
func now() (ns int64, ok bool) {
	const monotonic = 1
	var t syscall.Timespec
	_, errno := call(syscall.SYS_CLOCK_GETTIME, monotonic, address(unsafe.Pointer(&t)), 0, 0)
	return t.Sec*1e9 + t.Nsec, errno == 0
}

// unignoreChildren sets the default disposition of SIGCHLD: if it were ignored, there would be no status to wait for.
func unignoreChildren() {
	var standard struct{ handler, flags, restorer, mask uintptr }
	action := address(unsafe.Pointer(&standard))
	call(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGCHLD), action, 0, unsafe.Sizeof(standard.mask))
}
