//go:build unix

package locks

import (
	"errors"
	"syscall"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/sys"
)

// optionError returns the error of an option that locks bytes of a file, by an open file of its own that is open for
// writing. instead is that of NotForDirectories.
func optionError(option, name, instead string, cause error) *failure.Error {
	text, hint := name+": "+option, option+" needs flock(2), byte locks and /proc"
	switch {
	case errors.Is(cause, syscall.EISDIR):
		return NotForDirectories(option, name, instead, cause)
	case errors.Is(cause, syscall.ETXTBSY):
		return refuseOption(option, name, "an executable file", "nobody can execute a file that is open for writing: "+
			"use a separate lock file, in a script \"$0.lock\""+instead, cause)
	case sys.CannotCreate(cause), sys.LacksPermission(cause):
		text, hint = text+" needs a file that can be written", "use another lock file"
	case cause == errForeign:
		hint = "use a separate lock file"
	}
	failed := failure.New(failure.ExDataErr, text, cause)
	failed.Hint = hint + instead
	return failed
}
