//go:build unix

package output

import (
	"syscall"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/sys"
)

// isTerminal asks for the size of the window: TIOCGWINSZ is one call on all systems, unlike tcgetattr(3).
func (fd descriptor) isTerminal() bool {
	_, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ)
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

// Write makes the system call itself, because os.Stdout handles SIGPIPE in its own way.
func (fd descriptor) Write(text []byte) (int, error) {
	if closed[fd] {
		return 0, syscall.EBADF
	}
	written := 0
	for written < len(text) {
		n, err := sys.Retry(func() (int, error) { return syscall.Write(int(fd), text[written:]) })
		if err != nil {
			return written, err
		}
		written += n
	}
	return written, nil
}
