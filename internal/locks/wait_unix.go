//go:build unix

package locks

import (
	"errors"
	"io"
	"math"
	"syscall"

	"golang.org/x/sys/unix"
)

// A call makes one lock call, which waits if wait is true. Only a lock call returns a bare errno: that tells its
// answers from the errors of timers and opens.
type call func(fd int, op Op, wait bool) error

var flockOps = [...]int{Exclusive: unix.LOCK_EX, Shared: unix.LOCK_SH, Unlock: unix.LOCK_UN}

// flockCall makes one call of flock(2). An unlock never waits, and illumos refuses LOCK_NB with it (EINVAL). For a
// descriptor that is not open for what the lock needs on NFSv4, FreeBSD answers EACCES (nfs_advlock in
// sys/fs/nfsclient/nfs_clvnops.c) where Linux answers EBADF: as a conflict, one would wait for it in vain.
func flockCall(fd int, op Op, wait bool) error {
	how := flockOps[op]
	if !wait && op != Unlock {
		how |= unix.LOCK_NB
	}
	err := systemFlock(fd, how)
	if system == "freebsd" && err == syscall.EACCES && lacksAccess(fd, op) {
		return syscall.EBADF
	}
	return err
}

// lacksAccess reports whether a descriptor is not open for writing, or for a shared lock for reading.
func lacksAccess(fd int, op Op) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	access := flags & unix.O_ACCMODE
	return err == nil && (op == Exclusive && access == unix.O_RDONLY || op == Shared && access == unix.O_WRONLY)
}

// callWithin makes a lock call, and waits within the timeout while another process holds the lock.
func callWithin(timeout Timeout, call call, fd int, op Op) error {
	return toConflict(answerWithin(timeout, call, fd, op), timeout)
}

// answerWithin is callWithin that returns the bare answer of the last call. It makes the call again if a signal
// interrupts it.
func answerWithin(timeout Timeout, call call, fd int, op Op) error {
	if deadline, ends := timeout.Deadline(); ends {
		return answerUntil(deadline, call, fd, op)
	}
	for {
		if answer := call(fd, op, timeout.Waits()); !isInterrupted(answer) {
			return answer
		}
	}
}

// isConflict reports whether the answer of a lock call says that another process holds the lock. Some filesystems
// answer that even to a call that waits.
func isConflict(answer error) bool { return answer == syscall.EAGAIN || answer == syscall.EACCES }

// toConflict returns the error for the answer of a lock call.
func toConflict(answer error, timeout Timeout) error {
	if isConflict(answer) {
		return timeout.Conflict()
	}
	return answer
}

// These errors of the kernel are not meant for programs, but some filesystems let them through (include/linux/errno.h).
const (
	errRestart = syscall.Errno(512) // ERESTARTSYS, of FUSE: a signal interrupted the call
	errNotSupp = syscall.Errno(524) // ENOTSUPP, of Cray DVS: there are no such locks
)

func isInterrupted(err error) bool { return err == syscall.EINTR || err == errRestart }

// setBytes locks or unlocks a range of bytes, and does not wait.
func setBytes(fd int, op Op, r Range) error {
	return callWithin(Try, bytesCall(r), fd, op)
}

// tryByte locks a byte of a local file, unless another open file keeps it out. Where a conflict is answered by EAGAIN,
// a security policy answers EACCES, and would do so for ever.
func tryByte(fd int, r Range) error {
	answer := answerWithin(Try, bytesCall(r), fd, Exclusive)
	if answer == syscall.EACCES {
		return errDenied
	}
	return toConflict(answer, Try)
}

var errDenied = errors.New(Denial)

// lockInTheWay asks which lock keeps out one on a range of bytes, and returns one of them, if there is any: for
// Exclusive a read or a write lock, for Shared only a write lock. F_GETLK asks for a lock of this process, not of the
// open file: so an open file description lock keeps it out even if the same open file has it.
func lockInTheWay(fd int, op Op, r Range) (l unix.Flock_t, isTaken bool, err error) {
	l = unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: r.Start, Len: r.Length}
	if op == Shared {
		l.Type = unix.F_RDLCK
	}
	err = unix.FcntlFlock(uintptr(fd), unix.F_GETLK, &l)
	return l, err == nil && l.Type != unix.F_UNLCK, err
}

// endOf returns the first byte behind a lock.
func endOf(l unix.Flock_t) int64 {
	if l.Len == 0 { // it is on all bytes up to the last one that there can be
		return math.MaxInt64
	}
	return l.Start + l.Len
}

// isUnsupported reports whether the answer of a lock call says that the system or the filesystem has no such locks.
// Every contender gets this answer alike. ENOLCK does not belong here: it can be the trouble of one client of a network
// filesystem (no lock service) or of a moment (no memory).
func isUnsupported(err error) bool {
	return err == syscall.ENOSYS || err == syscall.EOPNOTSUPP || err == syscall.ENOTSUP || err == errNotSupp
}

// isUnsupportedForBytes is isUnsupported for an open file description lock. A kernel that is too old for it, Linux
// before 3.15, answers EINVAL.
func isUnsupportedForBytes(err error) bool { return err == syscall.EINVAL || isUnsupported(err) }

// needsWriting reports whether the answer of an exclusive lock call can mean that the descriptor must be open for
// writing. Linux makes flock(2) on NFSv4 from a byte lock, and answers EBADF or EIO.
func needsWriting(err error) bool { return err == syscall.EBADF || err == syscall.EIO }
