package compat_test

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lockCalls are the system calls for locks by architecture (arch/*/include/.../unistd.h). One filter contains all of
// them, because one kernel can run programs of several architectures.
var lockCalls = []struct {
	arch, flock uint32
	fcntl       []uint32
}{
	{unix.AUDIT_ARCH_X86_64, 73, []uint32{72}},
	{unix.AUDIT_ARCH_I386, 143, []uint32{55, 221}},
	{unix.AUDIT_ARCH_AARCH64, 32, []uint32{25}},
	{unix.AUDIT_ARCH_ARM, 143, []uint32{55, 221}},
	{unix.AUDIT_ARCH_RISCV64, 32, []uint32{25}},
}

const canHideLocks = true

// hideLocks executes argv under a filter that hides the kernel's locks: flock(2) fails with ENOSYS, open file description
// locks fail with EINVAL.
func hideLocks(argv []string) {
	// offsets in struct seccomp_data, little-endian: number 0, architecture 4, low half of the second argument 24
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	jump := func(k uint32, yes, no int) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(yes), Jf: uint8(no), K: k}
	}
	answer := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	allow := answer(unix.SECCOMP_RET_ALLOW)

	var filter []unix.SockFilter
	for _, calls := range lockCalls {
		body := []unix.SockFilter{load(0), jump(calls.flock, 0, 1), answer(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))}
		for i, number := range calls.fcntl {
			body = append(body, jump(number, len(calls.fcntl)-i, 0))
		}
		body = append(body, allow, load(24),
			jump(unix.F_OFD_GETLK, 3, 0), jump(unix.F_OFD_SETLK, 2, 0), jump(unix.F_OFD_SETLKW, 1, 0),
			allow, answer(unix.SECCOMP_RET_ERRNO|uint32(unix.EINVAL)))
		filter = append(filter, load(4), jump(calls.arch, 0, len(body)))
		filter = append(filter, body...)
	}
	filter = append(filter, allow)

	execFiltered(filter, argv)
}

func init() {
	if len(os.Args) > 2 && os.Args[1] == "without-kcmp" {
		forbidKcmp(os.Args[2:])
	}
}

// forbidKcmp executes argv under a filter that forbids kcmp(2), as container runtimes do.
func forbidKcmp(argv []string) {
	execFiltered([]unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_KCMP},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}, argv)
}

// canForbidKcmp reports whether forbidKcmp works here: it runs a program that every system has.
func canForbidKcmp() bool { return succeeds("/proc/self/exe", "without-kcmp", "/bin/true") }

// execFiltered executes argv under a seccomp filter, in place of this process.
func execFiltered(filter []unix.SockFilter, argv []string) {
	runtime.LockOSThread()
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	}
	if err == nil {
		err = syscall.Exec(argv[0], argv, os.Environ())
	}
	fmt.Fprintln(os.Stderr, "cannot run with fewer locks:", err)
	os.Exit(126)
}
