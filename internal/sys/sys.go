// Package sys is what the program asks the system for by itself: what its errors mean and how they read; and a few
// calls that the standard library makes in ways that cost too much here, with more system calls or with descriptors of
// its own.
package sys
