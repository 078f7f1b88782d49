// Package sys interprets the errors of the system, and makes a few calls for which the standard library costs too much
// here, with more system calls or with descriptors of its own.
package sys
