package main

import "golang.org/x/sys/windows"

func isTerminal(fd int) bool {
	var mode uint32
	handle := map[int]windows.Handle{0: windows.Stdin, 1: windows.Stdout, 2: windows.Stderr}[fd]
	return windows.GetConsoleMode(handle, &mode) == nil
}
