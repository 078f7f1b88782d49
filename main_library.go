//go:build unix && !aix && flock_linkname

package main

// The runtime does not call the main of what it takes for a library (internal/cstart). This is the last initializer of the
// program, and main does not return.
func init() { main() }
