// Package command finds programs and starts them as the system's own C library or shell does: as execvp(3) on Unix, by
// PATH and PATHEXT on Windows. All its errors are of package failure.
package command

import (
	"example.org/flock/internal/failure"
	"example.org/flock/internal/sys"
)

// A StartError is the cause of the error which says that a program cannot be executed.
type StartError struct {
	Name string
	Err  error
}

func (e *StartError) Error() string { return "failed to execute " + e.Name + ": " + sys.Text(e.Err) }
func (e *StartError) Unwrap() error { return e.Err }

// A WaitError is the cause of the error which says that a program was started and cannot be waited for.
type WaitError struct{ Err error }

func (e *WaitError) Error() string { return "waitpid failed: " + sys.Text(e.Err) }
func (e *WaitError) Unwrap() error { return e.Err }

// NotExecuted returns the error for a program that cannot be executed. As in util-linux, a lack of descriptors is
// one of those that make a program unavailable.
func NotExecuted(name string, err error) *failure.Error {
	start := &StartError{name, err}
	status := failure.ExUnavailable
	if sys.LacksMemory(err) {
		status = failure.ExOSErr
	}
	return &failure.Error{Status: status, Text: start.Error(), Cause: start}
}

// NotForked returns the error for a process that cannot be created.
func NotForked(err error) *failure.Error { return failure.New(failure.ExOSErr, "fork failed", err) }

// NotWaitedFor returns the error for a child whose exit status cannot be obtained. Its exit status is that of
// util-linux.
func NotWaitedFor(err error) error {
	wait := &WaitError{err}
	return &failure.Error{Status: 1, Text: wait.Error(), Cause: wait}
}
