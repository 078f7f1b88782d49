// Package alarm makes a timer of the kernel end a blocked system call: the call returns EINTR.
//
// It is for Linux on amd64 and arm64, and needs nothing of the Go runtime: package early uses it where that has not
// started. The signal goes to the process, and the kernel gives it to the first thread if that does not block it; so it is
// the first thread that must make the call.
package alarm
