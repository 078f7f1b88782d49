package main

import "os"

// The command's process is there before the lock is taken, so that nobody has
// to take its place meanwhile (exec_windows.go).

func needsSupervisor(*options) bool { return false }

func supervise(*printer, *lockFile, *options, []string) int { panic("unreachable") }

// supervisorOf returns the process that waits for the command; 0 if none does.
func supervisorOf(o *options) int {
	if len(o.command) == 0 || o.closeFd {
		return 0
	}
	return os.Getpid()
}
