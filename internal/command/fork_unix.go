//go:build unix && !linux

package command

import (
	"syscall"

	"example.org/flock/internal/sys"
)

// forkExec starts a program in a child. An error that a fork is known to return becomes a *ForkError. Any other error means
// that the child cannot execute the program.
func forkExec(path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	pid, err = syscall.ForkExec(path, argv, attr)
	if sys.Is(err, syscall.EAGAIN, syscall.EMFILE, syscall.ENFILE) {
		return 0, &ForkError{err}
	}
	return pid, err
}
