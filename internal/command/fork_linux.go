package command

import "syscall"

// forkExec starts a program in a child. If the fork fails, the error is a *ForkError. Any other error means that the child
// cannot execute the program.
func forkExec(path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	pid, first := syscall.ForkExec(path, argv, attr)
	if first == nil {
		return pid, nil
	}
	// The error can come from the fork or from the child. The second attempt tells: ForkExec sets the variable for the
	// child's pidfd, to -1 if there is no pidfd, if and only if there was a child.
	const noChild = -2
	child := noChild
	attr.Sys.PidFD = &child
	pid, err = syscall.ForkExec(path, argv, attr)
	switch {
	case child == noChild && err == syscall.EINVAL && first != syscall.EAGAIN:
		return 0, first // qemu-user and some releases of gVisor make no pidfd; the first attempt asked for none
	case child == noChild:
		return 0, &ForkError{err}
	case err == nil && child >= 0:
		syscall.Close(child)
	}
	return pid, err
}
