package main

import "syscall"

// forkExec starts a program in a child. It tells a fork that failed, by a
// stepError, from a child that could not execute the program.
func forkExec(path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	pid, err = syscall.ForkExec(path, argv, attr)
	if !is(err, syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ENOSYS, syscall.EPERM) {
		return pid, err
	}
	// It may be either. So once more, and this time the variable for the
	// child's pidfd is set, be it to -1, if and only if there was a child.
	const noChild = -2
	child := noChild
	attr.Sys = &syscall.SysProcAttr{PidFD: &child}
	pid, err = syscall.ForkExec(path, argv, attr)
	switch {
	case child == noChild:
		return 0, &stepError{forking, path, err}
	case err == nil && child >= 0:
		syscall.Close(child)
	}
	return pid, err
}
