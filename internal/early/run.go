//go:build linux && (amd64 || arm64)

package early

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A process is what the kernel gave the program. argv and environment are vectors.
type process struct {
	argc              int
	argv, environment unsafe.Pointer
	path, shell       int // index of PATH=... and SHELL=... in the environment; -1: none
}

// run is the whole program for most runs. If it returns, the Go runtime starts with argc and argv where run has moved
// them, and result tells main what run has done. stack points to argc.
func run(stack unsafe.Pointer) {
	p := process{argc: *(*int)(stack), argv: unsafe.Add(stack, 8), path: -1, shell: -1}
	p.environment = slot(p.argv, p.argc+1)
	p.lockAndExecute()
	p.useOneProcessor()
	calmMonitor()
	forbidFiles()
}

func (p *process) lockAndExecute() {
	var o options
	if p.argc < 2 || !o.parse(p.argc, p.argv) || !p.readEnvironment() {
		return
	}
	fd, ok := p.openLockFile(&o)
	if !ok || o.fd >= 0 && !hasNoPermit(fd) || !lock(fd, &o) {
		return
	}
	if o.command == 0 {
		exit(0)
	}
	p.execute(fd, &o)
}

// useOneProcessor puts GOMAXPROCS=1 before the environment, for the Go runtime: with more, it makes more threads and
// uses more memory, for which flock has no use. It moves argc and argv down on the stack, by two words because the
// stack must stay aligned to 16 bytes, so the entry is there twice. The first entry of a name counts.
func (p *process) useOneProcessor() {
	for i := -1; i <= p.argc; i++ {
		set(p.argv, i-2, at(p.argv, i))
	}
	set(p.argv, p.argc-1, cString(oneProcessor))
	set(p.argv, p.argc, cString(oneProcessor))
	result.Added = 2
}

const oneProcessor = "GOMAXPROCS=1\x00"

// calmMonitor lets timers be late in the threads of the Go runtime. One of them, its monitor, would otherwise wake up every
// 20 µs while the program runs, which takes a fifth of the processor from many runs at once. The first thread gets its own
// timer slack back before main (package cstart).
func calmMonitor() {
	const longest = 10_000_000 // ns; the monitor's own longest pause
	if slack, errno := call(syscall.SYS_PRCTL, unix.PR_GET_TIMERSLACK, 0, 0, 0); errno == 0 && slack < longest {
		result.Slack = int32(slack)
		call(syscall.SYS_PRCTL, unix.PR_SET_TIMERSLACK, longest, 0, 0)
	}
}

// forbidFiles keeps the Go runtime from opening files at its start: it would read the list of mounts, which can be long, to
// find out how many processors it may use, whatever GOMAXPROCS says. The limit is set back before main (package cstart).
func forbidFiles() {
	var limit syscall.Rlimit
	if _, errno := call(syscall.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, 0, address(unsafe.Pointer(&limit))); errno != 0 {
		return
	}
	none := syscall.Rlimit{Max: limit.Max}
	if _, errno := call(syscall.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, address(unsafe.Pointer(&none)), 0); errno == 0 {
		fileLimit = limit
	}
}

// giveUp records for main which step failed, and with which error.
func giveUp(step Step, errno syscall.Errno) {
	result.Failed, result.Errno = step, errno
}

// readEnvironment finds PATH and SHELL. It returns false if the Go runtime is needed: because FLOCK_BACKEND is set, or
// because the program has more privileges than its caller, as a set-user-id program has.
func (p *process) readEnvironment() bool {
	i := 0
	for ; at(p.environment, i) != nil; i++ {
		entry := at(p.environment, i)
		// Only the first entry of a name counts, as for getenv(3).
		switch *(*byte)(entry) {
		case 'P':
			if p.path < 0 && hasPrefix(text(entry), "PATH=") {
				p.path = i
			}
		case 'S':
			if p.shell < 0 && hasPrefix(text(entry), "SHELL=") {
				p.shell = i
			}
		case 'F':
			if hasPrefix(text(entry), "FLOCK_BACKEND=") {
				return false
			}
		}
	}
	// The auxiliary vector: pairs of a type and a value.
	const atNull, atSecure = 0, 23
	for at := slot(p.environment, i+1); ; at = unsafe.Add(at, 16) {
		switch *(*uintptr)(at) {
		case atNull:
			return true
		case atSecure:
			if *(*uintptr)(unsafe.Add(at, 8)) != 0 {
				return false
			}
		}
	}
}
