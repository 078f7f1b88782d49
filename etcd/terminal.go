//go:build unix

package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// fromKeyboard reports whether the terminal has sent the signal: to all processes in its foreground, so the command has it
// already.
func fromKeyboard(sig os.Signal) bool {
	if sig != syscall.SIGINT && sig != syscall.SIGQUIT {
		return false
	}
	fd, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	foreground, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	own, _ := unix.Getpgid(0)
	return err == nil && own == foreground
}
