//go:build linux && (amd64 || arm64)

package early

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/alarm"
)

// openLockFile opens the lock file as package lockfile does, or returns the descriptor that the command line names.
// A descriptor of a FIFO may be a lifeline of the directory lock: that is for package main.
func (p *process) openLockFile(o *options) (fd int, ok bool) {
	if o.fd >= 0 {
		return o.fd, !isFIFO(o.fd)
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

func isFIFO(fd int) bool {
	var stat syscall.Stat_t
	_, errno := call(syscall.SYS_FSTAT, uintptr(fd), address(unsafe.Pointer(&stat)), 0, 0)
	return errno == 0 && stat.Mode&syscall.S_IFMT == syscall.S_IFIFO
}

// lock takes or releases the lock, and exits if another process holds it. If it fails, it deletes its timer and restores
// the signal mask and the disposition of SIGALRM.
func lock(fd int, o *options, deadline int64) (ok bool) {
	var timer alarm.Alarm
	if o.hasTimeout {
		if time, ok := now(); !ok || timer.Start(max(deadline-time, 1)) != 0 {
			return false
		}
	}
	errno := acquire(fd, o, deadline)
	if o.hasTimeout {
		timer.Stop()
	}
	if errno == 0 {
		return true
	}
	if errno == syscall.EAGAIN {
		exit(o.conflictExit)
	}
	if o.hasTimeout {
		timer.Restore()
	}
	return false
}

// errRestart is ERESTARTSYS of the kernel: see package locks.
const errRestart = syscall.Errno(512)

// acquire makes the lock call and repeats it after signals, until the deadline if that is not 0. The answer is EAGAIN
// if another process holds the lock.
func acquire(fd int, o *options, deadline int64) syscall.Errno {
	for {
		errno := lockCall(fd, o)
		switch errno {
		case syscall.EACCES:
			return syscall.EAGAIN
		case syscall.EINTR, errRestart:
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
