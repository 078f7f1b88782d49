// Package command finds programs and starts them as the system's own C library or shell does: as execvp(3) on Unix, by
// PATH and PATHEXT on Windows.
//
// Every family of systems defines:
//
//	Run(argv)        runs a command, and returns its exit status
//	Exec(argv)       replaces this process by a command; returns only an error
//	Find(name, dir)  returns the path of a program in a directory or else in PATH, "" if there is none
//	Shell(text)      returns the command that runs text in the shell, for -c
//	BaseName(path)   returns a program's name for messages
//
// Their errors are *StartError, *ForkError and *WaitError.
package command

import "example.org/flock/internal/sys"

// A StartError says that a program cannot be executed.
type StartError struct {
	Name string
	Err  error
}

func (e *StartError) Error() string { return "failed to execute " + e.Name + ": " + sys.Text(e.Err) }
func (e *StartError) Unwrap() error { return e.Err }

// A ForkError says that no process could be created.
type ForkError struct{ Err error }

func (e *ForkError) Error() string { return "fork failed: " + sys.Text(e.Err) }
func (e *ForkError) Unwrap() error { return e.Err }

// A WaitError says that the exit status of a child cannot be obtained.
type WaitError struct{ Err error }

func (e *WaitError) Error() string { return "waitpid failed: " + sys.Text(e.Err) }
func (e *WaitError) Unwrap() error { return e.Err }
