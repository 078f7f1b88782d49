// Package cstart makes the process start like a C program. What the Go runtime changes at its start, and a C program
// does not, would reach the command or the user: signal handlers and the signal mask, closed standard descriptors, the
// environment.
//
// It sets variables of the runtime, for which the linker needs -checklinkname=0 and the build the tag flock_linkname. A
// build without them leaves the runtime as it is (unchanged.go), and README.md beside the compatibility tests lists
// what then differs.
package cstart
