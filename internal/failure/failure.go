// Package failure defines the error that users see, and the exit statuses.
package failure

import (
	"errors"
	"io/fs"
	"strings"

	"example.org/flock/internal/sys"
)

// An Error says what failed and why, what to do about it, and with which exit status the program ends.
type Error struct {
	Status int
	Text   string // the whole line: what failed, on which object, and why
	Cause  error  // the error behind it; may be nil
	Hint   string // what to do instead, as a second line; may be empty, and contain Program
	Try    bool   // add the line that refers to --help
}

// Program stands for the name of the program in a Hint: it may be flock-go where flock is that of util-linux. No word
// of a command line contains it.
const Program = "\x00"

func (e *Error) Error() string { return e.Text }
func (e *Error) Unwrap() error { return e.Cause }

// New returns the error of an operation on an object, which what names, with the system's text of its cause. A lack of
// memory, descriptors or locks says nothing about the object: then the exit status is ExOSErr instead of status.
func New(status int, what string, cause error) *Error {
	if sys.LacksResources(cause) {
		status = ExOSErr
	}
	return &Error{Status: status, Text: what + ": " + sys.Text(cause), Cause: cause}
}

// Usage returns the error of a command line, or a variable, that is wrong.
func Usage(text string) *Error { return &Error{Status: ExUsage, Text: text} }

// Opening returns the error of a lock file that cannot be opened.
func Opening(file string, cause error) *Error {
	status := ExNoInput
	if sys.CannotCreate(cause) {
		status = ExCantCreat
	}
	failed := New(status, "cannot open lock file "+file, cause)
	switch isMissing := errors.Is(cause, fs.ErrNotExist); {
	case isMissing && file == "":
		failed.Hint = EmptyName
	case isMissing && strings.HasPrefix(file, "~"):
		failed.Hint = QuotedTilde
	}
	return failed
}

// EmptyName is the hint for a name that is empty.
const EmptyName = "the name is empty: is a variable not set?"

// QuotedTilde is the hint for a path that begins with a tilde, which only a shell replaces.
const QuotedTilde = "the quotes keep the shell from replacing ~ by the home directory"
