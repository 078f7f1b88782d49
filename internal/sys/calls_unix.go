//go:build unix

package sys

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Retry makes a system call until no signal interrupts it.
func Retry[T any](call func() (T, error)) (T, error) {
	for {
		if result, err := call(); err != syscall.EINTR {
			return result, err
		}
	}
}

// Read is read(2), which no signal interrupts.
func Read(fd int, b []byte) (int, error) {
	return Retry(func() (int, error) { return unix.Read(fd, b) })
}

// Wait4 is wait4(2), which no signal interrupts.
func Wait4(pid int, status *syscall.WaitStatus, options int) (int, error) {
	return Retry(func() (int, error) { return syscall.Wait4(pid, status, options, nil) })
}

// SameFile reports whether both are of one file.
func SameFile(a, b *unix.Stat_t) bool { return a.Dev == b.Dev && a.Ino == b.Ino }

// Sleep pauses for d, whatever signals come. It is not time.Sleep, which opens descriptors at its first call and ends
// the process if there are none.
func Sleep(d time.Duration) {
	for end := time.Now().Add(d); d > 0; d = time.Until(end) {
		t := unix.NsecToTimeval(int64(min(d, time.Hour)))
		unix.Select(0, nil, nil, nil, &t)
	}
}

// Socketpair returns the two ends of a socket. See AboveStandard for their numbers.
func Socketpair() (pair [2]int, err error) {
	pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	for i := range pair {
		pair[i], err = AboveStandard(pair[i], err)
	}
	return pair, err
}

// AboveStandard returns what was opened, unless that has failed, under a number that is none of a standard descriptor,
// closed on exec. Where one of those is closed, what is opened gets its number, and would be written to.
func AboveStandard(fd int, err error) (int, error) {
	if err != nil {
		return -1, err
	}
	if fd > 2 {
		unix.CloseOnExec(fd)
		return fd, nil
	}
	above, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	unix.Close(fd)
	return above, err
}
