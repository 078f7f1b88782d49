package compat_test

import (
	_ "embed"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A filter is a program for seccomp. "self WORD COMMAND..." executes the command under the filter of that name.
var filters = map[string]func() []unix.SockFilter{
	"without-kernel-locks": withoutKernelLocks,
	"without-byte-locks":   withoutByteLocks,
	"byte-locks-denied":    byteLocksDenied,
	"without-kcmp":         withoutKcmp,
	"without-threads":      withoutThreads,
	"without-subreaper":    withoutSubreaper,
	"without-sockets":      withoutSockets,
	"fork-says-EAGAIN":     func() []unix.SockFilter { return withoutFork(unix.EAGAIN) },
	"fork-says-ENOMEM":     func() []unix.SockFilter { return withoutFork(unix.ENOMEM) },
	"fork-says-EPERM":      func() []unix.SockFilter { return withoutFork(unix.EPERM) },
	"without-arch_prctl":   withoutArchPrctl,
	"system-service":       systemService,

	// an answer of another kernel, for a personality
	"sigaction-of-KILL-refused": withoutSigactionOfKill,
}

func init() {
	if len(os.Args) > 2 && filters[os.Args[1]] != nil {
		execFiltered(filters[os.Args[1]](), os.Args[2:])
	}
}

// Offsets in struct seccomp_data. Of the arguments it is the low half, on a little-endian machine.
const (
	callNumber     = 0
	architecture   = 4
	firstArgument  = 16
	secondArgument = 24
)

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func jump(k uint32, yes, no int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(yes), Jf: uint8(no), K: k}
}

func and(k uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: k}
}

func fail(errno syscall.Errno) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

var allow = unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}

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

// withoutKernelLocks hides the kernel's locks: flock(2) fails with ENOSYS, open file description locks fail with
// EINVAL.
func withoutKernelLocks() (filter []unix.SockFilter) {
	for _, calls := range lockCalls {
		body := []unix.SockFilter{load(callNumber), jump(calls.flock, 0, 1), fail(unix.ENOSYS)}
		for i, number := range calls.fcntl {
			body = append(body, jump(number, len(calls.fcntl)-i, 0))
		}
		body = append(body, allow, load(secondArgument),
			jump(unix.F_OFD_GETLK, 3, 0), jump(unix.F_OFD_SETLK, 2, 0), jump(unix.F_OFD_SETLKW, 1, 0),
			allow, fail(unix.EINVAL))
		filter = append(filter, load(architecture), jump(calls.arch, 0, len(body)))
		filter = append(filter, body...)
	}
	return append(filter, allow)
}

// withoutByteLocks leaves flock(2) and hides open file description locks.
func withoutByteLocks() []unix.SockFilter {
	return []unix.SockFilter{
		load(callNumber), jump(unix.SYS_FCNTL, 0, 5),
		load(secondArgument), jump(unix.F_OFD_GETLK, 2, 0), jump(unix.F_OFD_SETLK, 1, 0), jump(unix.F_OFD_SETLKW, 0, 1),
		fail(unix.EINVAL), allow,
	}
}

// byteLocksDenied has the kernel deny open file description locks, as a security policy does.
func byteLocksDenied() []unix.SockFilter {
	return []unix.SockFilter{
		load(callNumber), jump(unix.SYS_FCNTL, 0, 4),
		load(secondArgument), jump(unix.F_OFD_SETLK, 1, 0), jump(unix.F_OFD_SETLKW, 0, 1), fail(unix.EACCES), allow,
	}
}

// withoutSigactionOfKill has sigaction(2) refuse SIGKILL and SIGSTOP, even when their dispositions are only asked for,
// as on macOS (bsd/kern/kern_sig.c).
func withoutSigactionOfKill() []unix.SockFilter {
	return []unix.SockFilter{
		load(callNumber), jump(unix.SYS_RT_SIGACTION, 0, 4),
		load(firstArgument), jump(uint32(unix.SIGKILL), 1, 0), jump(uint32(unix.SIGSTOP), 0, 1),
		fail(unix.EINVAL), allow,
	}
}

// withoutKcmp forbids kcmp(2), as container runtimes do.
func withoutKcmp() []unix.SockFilter {
	return []unix.SockFilter{load(callNumber), jump(unix.SYS_KCMP, 0, 1), fail(unix.EPERM), allow}
}

// canForbidKcmp reports whether that works here: it runs a program that every system has.
func canForbidKcmp() bool { return succeeds("/proc/self/exe", "without-kcmp", "/bin/true") }

// withoutSockets forbids socket(2); pairs of sockets can be made.
func withoutSockets() []unix.SockFilter {
	return []unix.SockFilter{load(callNumber), jump(unix.SYS_SOCKET, 0, 1), fail(unix.EAFNOSUPPORT), allow}
}

// withoutThreads lets clone(2) make no thread, so no Go runtime can start. The C library makes threads with clone3(2),
// which is allowed.
func withoutThreads() []unix.SockFilter {
	return []unix.SockFilter{
		load(callNumber), jump(unix.SYS_CLONE, 0, 4),
		load(firstArgument), and(unix.CLONE_THREAD), jump(0, 1, 0), fail(unix.EAGAIN), allow,
	}
}

// withoutSubreaper has prctl(2) make no process the parent of orphaned descendants.
func withoutSubreaper() []unix.SockFilter {
	return []unix.SockFilter{
		load(callNumber), jump(unix.SYS_PRCTL, 0, 3),
		load(firstArgument), jump(unix.PR_SET_CHILD_SUBREAPER, 0, 1), fail(unix.EPERM), allow,
	}
}

// withoutFork allows new threads but no child: clone(2) fails if the low byte of its first argument names a signal for
// the parent.
func withoutFork(errno syscall.Errno) []unix.SockFilter {
	return []unix.SockFilter{
		load(callNumber), jump(unix.SYS_CLONE, 0, 4),
		load(firstArgument), and(0xff), jump(uint32(unix.SIGCHLD), 0, 1), fail(errno), allow,
	}
}

// withoutArchPrctl forbids arch_prctl(2), which exists on amd64 only.
func withoutArchPrctl() []unix.SockFilter {
	const archPrctl = 158
	return []unix.SockFilter{load(callNumber), jump(archPrctl, 0, 1), fail(unix.EPERM), allow}
}

//go:embed system-service.txt
var systemServiceCalls string

// systemService kills whoever makes a call that is not in system-service.txt, as systemd does without
// SystemCallErrorNumber=.
func systemService() (filter []unix.SockFilter) {
	column := map[string]int{"amd64": 1, "arm64": 2}[runtime.GOARCH]
	filter = append(filter, load(callNumber))
	for word := range strings.FieldsSeq(systemServiceCalls) {
		call := strings.Split(word, ",")
		if number, err := strconv.ParseUint(call[min(column, len(call)-1)], 10, 32); err == nil && len(call) == 3 {
			filter = append(filter, jump(uint32(number), 0, 1), allow)
		}
	}
	return append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS})
}

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
	fmt.Fprintln(os.Stderr, "cannot run with fewer system calls:", err)
	os.Exit(126)
}
