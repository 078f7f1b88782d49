// Package early does the most common runs of flock without the Go runtime, on linux/amd64 and linux/arm64.
//
// # Why
//
// Before main the Go runtime creates threads, reserves address space, reads files and installs signal handlers. That
// takes longer than everything that flock does, and most of the memory of a waiting flock belongs to the runtime. If a
// limit forbids it, the program does not start. Locking a file and starting a command need none of it.
//
// # How
//
// The linker's flag -E (see the Makefile) names flock_entry as the entry point of the program. It is a few instructions
// of assembly. They set up the one thing that Go code needs to run: a g, with a stack guard of 0, so that no function
// asks for more stack. Then they call run with the stack pointer that the kernel gave the program. The argument count,
// the arguments, the environment and the auxiliary vector are there.
//
// run either does all the work and ends the process, or it returns. Then flock_entry jumps to the entry point of the Go
// runtime, with the stack pointer where run has put GOMAXPROCS=1 before the environment. Nothing else has been changed, but
// the timer slack and the limit of open files, which package cstart sets back before main, so the runtime starts as usual
// and calls main. The command gets the environment without GOMAXPROCS.
//
// Without the flag, flock_entry is not in the program, nothing here is called, and the program does the same, only
// slower.
//
// # What run may do
//
// It handles runs that print nothing: the options of util-linux, unabbreviated, except --verbose, --start and --length;
// a kernel lock; a command. For every other option, number or environment variable it returns before it has changed
// anything.
//
// It also returns when a system call fails. [Result] then tells main what run has done and which call failed. main
// reads the command line again, uses the open file, treats the error as if it had made the call, and continues from
// there: with another kind of lock, or with a message. If execve(2) fails in the child, run returns there: the Go
// runtime starts in the child, and main reports the error. The only message that run writes itself is that the fork
// failed: if no process can be created, the threads of the Go runtime cannot be either.
//
// Before run returns, it deletes its timer and restores the signal dispositions. There is one exception: SIGCHLD has
// its default disposition once run starts the command. main would have set the same.
//
// # What the code may not do
//
// There is no heap, no garbage collector, no scheduler, and no package is initialized. So the code here and in package
// pathsearch does not allocate, append, use a map, build strings or compare them with ==, convert to an interface,
// defer, panic, start goroutines, store a pointer where the compiler adds a write barrier, or read a variable that an
// initializer sets. It calls the kernel with syscall.RawSyscall6 only. If a bounds check fails, it crashes. Of packages
// that need the runtime it uses constants only.
//
// TestObject reads the compiled packages, and fails if they refer to anything else in the runtime.
package early
