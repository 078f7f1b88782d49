//go:build unix

package output

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// isTerminal reports whether fd is a terminal. It asks for the size of the window: TIOCGWINSZ is one call on all
// systems, unlike tcgetattr(3).
func isTerminal(fd int) bool {
	_, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	return err == nil
}

// closed tells which standard descriptors were closed at the start: what was opened since then may have their numbers.
var closed = func() (is [3]bool) {
	for fd := range is {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		is[fd] = err != nil
	}
	return is
}()

// write writes all of the text. It makes the system call itself, because os.Stdout handles SIGPIPE in its own way.
func write(fd int, text string) error {
	if closed[fd] {
		return syscall.EBADF
	}
	for b := []byte(text); len(b) > 0; {
		n, err := syscall.Write(fd, b)
		if err != nil && err != syscall.EINTR {
			return err
		}
		b = b[max(n, 0):]
	}
	return nil
}
