//go:build unix

package direct

import "golang.org/x/sys/unix"

// AboveStandard returns the descriptor under a number that is none of a standard descriptor, closed on exec. Where one of
// those is closed, what is opened gets its number, and would be written to.
func AboveStandard(fd int) (int, error) {
	if fd > 2 {
		unix.CloseOnExec(fd)
		return fd, nil
	}
	above, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	unix.Close(fd)
	return above, err
}
