//go:build !(linux && (amd64 || arm64))

package early

// There is no run without the Go runtime on these systems: Result is always empty.

// Errno is an error of a system call.
type Errno uintptr

func (Errno) Error() string { return "" }
