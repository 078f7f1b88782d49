package main

import "syscall"

func isTerminal(fd int) bool {
	path, err := syscall.Fd2path(fd)
	return err == nil && path == "/dev/cons"
}
