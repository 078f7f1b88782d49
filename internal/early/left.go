package early

import "syscall"

// Left is what the run without the Go runtime leaves to main, after something that it cannot undo. At most one of
// Execute, Wait and Taker is set.
type Left struct {
	// Execute is why the command could not be executed. Without --no-fork this process is the child.
	Execute syscall.Errno
	// Wait is why the exit status of the command, which runs, could not be obtained.
	Wait syscall.Errno
	// Taker is the process, the parent of this one, whose command has ended and whose lock others may keep, of which
	// --report tells. FD is another open file of the lock file.
	Taker, FD int
}

// left lies in memory that the Go runtime does not clear at its start.
var left Left

// Remaining returns what is left. It is the zero Left if the run has left no trace, or was not called.
func Remaining() Left { return left }
