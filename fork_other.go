//go:build unix && !linux

package main

import "syscall"

// forkExec starts a program in a child. It tells a fork that failed, by a
// stepError, from a child that could not execute the program: by the errors
// that a fork is known to have.
func forkExec(path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	pid, err = syscall.ForkExec(path, argv, attr)
	if is(err, syscall.EAGAIN, syscall.EMFILE, syscall.ENFILE) {
		return 0, &stepError{forking, path, err}
	}
	return pid, err
}
