package locks

import "example.org/flock/internal/failure"

// NotForDirectories returns the error for an option that cannot lock a directory, because of cause. instead is the end
// of the hint, which says what to use instead; it may be empty.
func NotForDirectories(option, name, instead string, cause error) *failure.Error {
	return refuseOption(option, name, "a directory", "lock a file in it instead"+instead, cause)
}

// refuseOption returns the error of an option that does not work with what is called name.
func refuseOption(option, name, what, hint string, cause error) *failure.Error {
	failed := failure.New(failure.ExDataErr, "", cause) // for the status
	failed.Text, failed.Hint = name+": "+option+" cannot be used with "+what, hint
	return failed
}

// OrByDirectory ends the hint about an option that the directory lock supports for any file.
const OrByDirectory = "; or, for all who use it, --backend directory"
