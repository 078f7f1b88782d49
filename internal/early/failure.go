package early

import "syscall"

// A Failure is what the run without the Go runtime could not do, after something that it cannot undo. At most one of
// its errors is set.
type Failure struct {
	// Execute is why the command could not be executed. This process is the child or, with --no-fork, the only one.
	Execute syscall.Errno
	// Wait is why the exit status of the command, which runs, could not be obtained. This process is its parent.
	Wait syscall.Errno
}

// failure lies in memory that the Go runtime does not clear at its start.
var failure Failure

// Failed returns what has failed. It is the zero Failure if the run has left no trace, or was not called.
func Failed() Failure { return failure }
