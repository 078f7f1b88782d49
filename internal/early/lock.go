//go:build linux && (amd64 || arm64)

package early

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/alarm"
	"example.org/flock/internal/kernlock"
)

// openLockFile opens the lock file as package lockfile does, or returns the descriptor that the command line names.
func (p *process) openLockFile(o *options) (fd int, ok bool) {
	if o.fd >= 0 {
		return o.fd, true
	}
	mode := syscall.O_RDONLY
	if o.fcntl && o.op == syscall.LOCK_EX {
		mode = syscall.O_WRONLY
	}
	fd, errno := open(at(p.argv, o.file), mode|syscall.O_CREAT|syscall.O_NOCTTY)
	if errno == syscall.EISDIR {
		fd, errno = open(at(p.argv, o.file), syscall.O_RDONLY|syscall.O_NOCTTY)
	}
	return fd, errno == 0
}

// lock takes or releases the lock, and exits if another process holds it. If it fails, it deletes its timer and restores the
// disposition of SIGALRM.
func lock(fd int, o *options) (ok bool) {
	var limit alarm.Alarm
	var deadline int64
	if o.limited {
		began, ok := now()
		if !ok || limit.Start(o.timeout) != 0 {
			return false
		}
		deadline = began + o.timeout
	}
	errno := acquire(fd, o, deadline)
	if o.limited {
		limit.Stop()
	}
	switch errno {
	case 0:
		return true
	case syscall.EAGAIN:
		exit(o.conflictExit)
	}
	if o.limited {
		limit.Restore()
	}
	return false
}

// acquire makes the lock call and repeats it after signals, until the deadline if that is not 0. The answer is EAGAIN if
// another process holds the lock.
func acquire(fd int, o *options, deadline int64) syscall.Errno {
	for {
		errno := lockCall(fd, o)
		switch errno {
		case syscall.EACCES:
			return syscall.EAGAIN
		case syscall.EINTR:
			if time, ok := now(); deadline != 0 && (!ok || time >= deadline) {
				return syscall.EAGAIN
			}
		default:
			return errno
		}
	}
}

// lockCall makes one flock(2) call, or one fcntl(2) call for the whole file.
func lockCall(fd int, o *options) syscall.Errno {
	if !o.fcntl {
		how := o.op
		if o.nonblock {
			how |= syscall.LOCK_NB
		}
		_, errno := call(syscall.SYS_FLOCK, uintptr(fd), how, 0, 0)
		return errno
	}
	all := syscall.Flock_t{Type: syscall.F_UNLCK}
	switch o.op {
	case syscall.LOCK_SH:
		all.Type = syscall.F_RDLCK
	case syscall.LOCK_EX:
		all.Type = syscall.F_WRLCK
	}
	cmd := uintptr(unix.F_OFD_SETLKW)
	if o.nonblock {
		cmd = unix.F_OFD_SETLK
	}
	_, errno := call(syscall.SYS_FCNTL, uintptr(fd), cmd, address(unsafe.Pointer(&all)), 0)
	return errno
}

// hasNoPermit reports whether the descriptor certainly has no permit. If it may have one, lock and unlock must give it
// back, and main does that. A permit is an open file description lock and needs a descriptor that is open for writing.
// Without such locks in the kernel, permits belong to the directory lock.
func hasNoPermit(fd int) bool {
	flags, errno := call(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0, 0)
	if errno != 0 {
		return true // no such descriptor: the lock call says so
	}
	if flags&syscall.O_ACCMODE == syscall.O_RDONLY {
		return true
	}
	permit := syscall.Flock_t{Type: syscall.F_WRLCK, Start: kernlock.PermitBase, Len: 1}
	if _, errno := call(syscall.SYS_FCNTL, uintptr(fd), unix.F_OFD_GETLK, address(unsafe.Pointer(&permit)), 0); errno != 0 {
		return false
	}
	// F_GETLK asks whether a lock of this process would conflict: any open file description lock conflicts, even one on
	// this descriptor. This is faster than reading /proc.
	anybody := syscall.Flock_t{Type: syscall.F_WRLCK, Start: kernlock.PermitBase}
	_, errno = call(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETLK, address(unsafe.Pointer(&anybody)), 0)
	return errno == 0 && anybody.Type == syscall.F_UNLCK || showsNoByteLock(fd)
}

// showsNoByteLock reports whether /proc/self/fdinfo shows the descriptor without a byte lock.
func showsNoByteLock(fd int) bool {
	first := write(0, "/proc/self/fdinfo/")
	end := first + 1
	for n := fd / 10; n > 0; n /= 10 {
		end++
	}
	buffer[end] = 0
	for n, i := fd, end-1; i >= first; n, i = n/10, i-1 {
		buffer[i] = '0' + byte(n%10)
	}
	info, errno := open(unsafe.Pointer(&buffer), syscall.O_RDONLY|syscall.O_CLOEXEC)
	if errno != 0 {
		return false
	}
	n, errno := call(syscall.SYS_READ, uintptr(info), address(unsafe.Pointer(&buffer)), uintptr(len(buffer)), 0)
	closeFd(info)
	if errno != 0 || n == 0 || n >= uintptr(len(buffer)) {
		return false
	}
	buffer[n] = 0
	return saysNoByteLock(text(unsafe.Pointer(&buffer)))
}

// saysNoByteLock reads a file of fdinfo. A lock is a line like "lock:\t1: OFDLCK ADVISORY WRITE -1 00:1f:52 0 EOF". Linux
// shows locks since 4.1, and a line "ino:" since 5.14; gVisor shows neither.
func saysNoByteLock(shown string) bool {
	showsLocks := false
	for i := range len(shown) {
		if hasPrefix(shown[i:], "OFDLCK") || hasPrefix(shown[i:], "POSIX") {
			return false
		}
		showsLocks = showsLocks || hasPrefix(shown[i:], "ino:")
	}
	return showsLocks
}
