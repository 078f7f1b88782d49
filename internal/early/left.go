package early

import "syscall"

// Left is what the run without the Go runtime leaves to main, after something that it cannot undo. At most one of
// Execute, Wait and Ended is set.
type Left struct {
	// Execute is why the command could not be executed. Without --no-fork this process is the child.
	Execute syscall.Errno
	// Wait is why the exit status of the command, which runs, could not be obtained.
	Wait syscall.Errno
	// Ended says that the command has ended, and that others may keep its lock, of which --report tells.
	Ended bool
	// Status is the exit status of the command that has ended, and FD the open lock file.
	Status, FD int
}

// left lies in memory that the Go runtime does not clear at its start.
var left Left

// Remaining returns what is left. It is the zero Left if the run has left no trace, or was not called.
func Remaining() Left { return left }
