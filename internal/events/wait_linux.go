package events

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// While a system call blocks, the monitor thread of the Go runtime sleeps. But after each system call that blocks for more
// than a moment it wakes about sixty times. So for the runtime, a wait with looks at intervals is a single system call:
// between entersyscall and exitsyscall there are only raw system calls, and no Go code that needs the runtime.

// maxProcesses is the number of processes that can be watched.
const maxProcesses = 40

// A quietWait is a wait of several system calls. All its memory is allocated before the first of them.
type quietWait struct {
	fds   [maxProcesses + 3]unix.PollFd
	count uintptr

	every, last unix.Timespec // the time between two looks, and after the last look
	looks       int           // how many looks are left
	left        unix.Timespec

	dir    uintptr
	names  [MaxNames]*byte
	absent *byte
	file   *byte
	first  unix.Statx_t // of file
	stat   unix.Statx_t
	seen   bool
}

var dot = [2]byte{'.', 0}

// prepare sets how long to wait and what to look at.
func (q *quietWait) prepare(d time.Duration, look Look) {
	q.last = unix.NsecToTimespec(int64(d))
	every := look.interval()
	if every == 0 {
		return
	}
	q.every = unix.NsecToTimespec(int64(every))
	q.looks = int(d / every)
	q.last = unix.NsecToTimespec(int64(d % every))
	q.dir = look.Directory.Fd()
	for i, name := range look.Stand[:min(MaxNames, len(look.Stand))] {
		q.names[i], _ = unix.BytePtrFromString(name)
	}
	if look.Absent != "" {
		q.absent, _ = unix.BytePtrFromString(look.Absent)
	}
	if look.File != "" {
		q.file, _ = unix.BytePtrFromString(look.File)
		unix.Statx(unix.AT_FDCWD, look.File, 0, unix.STATX_INO, &q.first)
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
		if q.looks == 0 {
			q.left = q.last
		}
		if q.poll() || q.looks == 0 {
			break
		}
		q.looks--
		if q.look() {
			q.seen = true
			break
		}
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

// look reports whether something is not as expected.
//
//go:nosplit
//go:norace
func (q *quietWait) look() bool {
	fd, _, errno := unix.RawSyscall6(unix.SYS_OPENAT, q.dir, uintptr(unsafe.Pointer(&dot)),
		unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0, 0, 0)
	if errno == 0 {
		unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
	}
	for i := 0; i < MaxNames && q.names[i] != nil; i++ {
		if q.statx(q.dir, q.names[i], unix.AT_SYMLINK_NOFOLLOW) != 0 {
			return true
		}
	}
	if q.absent != nil && q.statx(q.dir, q.absent, unix.AT_SYMLINK_NOFOLLOW) != unix.ENOENT {
		return true
	}
	return q.file != nil && (q.statx(0, q.file, 0) != 0 || q.stat.Ino != q.first.Ino ||
		q.stat.Dev_major != q.first.Dev_major || q.stat.Dev_minor != q.first.Dev_minor)
}

//go:nosplit
//go:norace
func (q *quietWait) statx(dir uintptr, name *byte, flags uintptr) syscall.Errno {
	_, _, errno := unix.RawSyscall6(unix.SYS_STATX, dir, uintptr(unsafe.Pointer(name)), flags, unix.STATX_INO,
		uintptr(unsafe.Pointer(&q.stat)), 0)
	return errno
}

func toEvent(b []byte) unix.InotifyEvent { return *(*unix.InotifyEvent)(unsafe.Pointer(&b[0])) }

//go:linkname entersyscall runtime.entersyscall
func entersyscall()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()
