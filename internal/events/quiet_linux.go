package events

import (
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// While a system call blocks, the monitor thread of the Go runtime sleeps. But after each system call that blocks for more
// than a moment it wakes about sixty times. So for the runtime, a wait with checks at intervals is a single system call:
// between entersyscall and exitsyscall there are only raw system calls, and no Go code that needs the runtime.

// A quietWait is a wait of several system calls. All its memory is allocated before the first of them.
type quietWait struct {
	fds   [maxProcesses + 2]unix.PollFd
	count uintptr

	every, last unix.Timespec // the time between two checks, and after the last check
	checks      int           // how many checks are left
	left        unix.Timespec

	dir     uintptr
	names   [MaxNames]*byte
	running *byte // the stat file of the process in /proc
	text    [512]byte
	stat    unix.Statx_t
	seen    bool
}

var dot = [2]byte{'.', 0}

func (q *quietWait) add(fd int) {
	q.fds[q.count] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	q.count++
}

// prepare sets how long to wait and what to check.
func (q *quietWait) prepare(d time.Duration, check Check) {
	q.last = unix.NsecToTimespec(int64(d))
	every := check.interval()
	if every == 0 {
		return
	}
	q.every = unix.NsecToTimespec(int64(every))
	q.checks = int(d / every)
	q.last = unix.NsecToTimespec(int64(d % every))
	q.dir = uintptr(check.Directory.FD)
	for i, name := range check.Names[:min(MaxNames, len(check.Names))] {
		q.names[i], _ = unix.BytePtrFromString(name)
	}
	if check.Running != 0 {
		q.running, _ = unix.BytePtrFromString("/proc/" + strconv.Itoa(check.Running) + "/stat")
	}
}

func (q *quietWait) wait() {
	q.waitInSystemCall()
	runtime.KeepAlive(q)
}

//go:nosplit
//go:norace
func (q *quietWait) waitInSystemCall() {
	entersyscall()
	for {
		q.left = q.every
		if q.checks == 0 {
			q.left = q.last
		}
		if q.poll() {
			break
		}
		if q.namesMissing() || q.isStopped() {
			q.seen = true
			break
		}
		if q.checks == 0 {
			break
		}
		q.checks--
	}
	exitsyscall()
}

// poll waits for an event. When a signal interrupts it, Linux stores the remaining time in q.left.
//
//go:nosplit
//go:norace
func (q *quietWait) poll() bool {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&q.fds)), q.count,
			uintptr(unsafe.Pointer(&q.left)), 0, 0, 0)
		switch {
		case errno == 0:
			return n > 0
		case errno != unix.EINTR: // the limit of descriptors was lowered meanwhile: wait without events
			q.count = 0
		}
	}
}

// namesMissing reports whether a name does not exist.
//
//go:nosplit
//go:norace
func (q *quietWait) namesMissing() bool {
	if q.names[0] == nil {
		return false
	}
	fd, errno := open(q.dir, &dot[0], unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if errno == 0 {
		unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
	}
	for i := 0; i < MaxNames && q.names[i] != nil; i++ {
		_, _, errno := unix.RawSyscall6(unix.SYS_STATX, q.dir, uintptr(unsafe.Pointer(q.names[i])), unix.AT_SYMLINK_NOFOLLOW,
			unix.STATX_INO, uintptr(unsafe.Pointer(&q.stat)), 0)
		if errno != 0 {
			return true
		}
	}
	return false
}

// isStopped reports whether the process that should run is stopped: the state follows the last parenthesis of
// proc_pid_stat(5).
//
//go:nosplit
//go:norace
func (q *quietWait) isStopped() bool {
	if q.running == nil {
		return false
	}
	fd, errno := open(0, q.running, unix.O_RDONLY|unix.O_CLOEXEC)
	if errno != 0 {
		return false // if it has ended, there is an event
	}
	n, _, errno := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&q.text)), unsafe.Sizeof(q.text))
	unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
	if errno != 0 {
		return false
	}
	for i := int(n) - 3; i >= 0 && i < len(q.text)-2; i-- {
		if q.text[i] == ')' {
			return q.text[i+2] == 'T' || q.text[i+2] == 't'
		}
	}
	return false
}

//go:nosplit
//go:norace
func open(dir uintptr, name *byte, flags uintptr) (uintptr, syscall.Errno) {
	fd, _, errno := unix.RawSyscall6(unix.SYS_OPENAT, dir, uintptr(unsafe.Pointer(name)), flags, 0, 0, 0)
	return fd, errno
}

func toEvent(b []byte) unix.InotifyEvent { return *(*unix.InotifyEvent)(unsafe.Pointer(&b[0])) }

//go:linkname entersyscall runtime.entersyscall
func entersyscall()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()
