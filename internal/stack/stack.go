// Package stack makes the stack of the main goroutine grow to 16 KiB at once, before the other packages are initialized: Go
// initializes packages without imports first. It would grow to that anyway, by way of 4 and 8 KiB, and the memory of these
// would be used, too.
package stack

func init() { grow(0) }

// grow needs more than 8 KiB of stack.
//
//go:noinline
func grow(i int) byte {
	var room [8 << 10]byte
	return room[i]
}
