// Package early is the run without the Go runtime, on linux/amd64 and
// linux/arm64, for the runs of flock that most people make.
//
// # Why
//
// Before main the Go runtime makes threads, reserves address space, reads
// files and installs signal handlers. That takes longer than all that flock
// does, it is most of the memory of a flock that waits, and where limits or
// the number of processes forbid it, the program does not start. To lock a
// file and to start a command needs none of it.
//
// # How
//
// The linker's flag -E (see the Makefile) names flock_entry as the entry point
// of the program. That is a few instructions of assembly, which give Go code
// what it cannot run without: a g, whose stack guard is 0, so that no function
// asks for more stack. They call run with the stack pointer that the kernel
// gave the program. Argument count, arguments, environment and auxiliary vector
// lie there.
//
// run does all the work and ends the process, or it returns, and flock_entry
// restores the stack pointer and jumps to the entry point of the Go runtime.
// Nothing of the runtime has been touched, so it starts as ever, and so does
// main.
//
// Without the flag, flock_entry is not in the program, nothing here is called,
// and the program works in the ordinary way, only slower.
//
// # What run may do
//
// It handles what prints nothing: the options of util-linux, spelled out, but
// for --verbose, --start and --length; a native lock; a command. In everything
// else it returns before it has changed anything: for each option, number or
// environment variable that it does not know for certain.
//
// When a system call fails, it returns as well, and [Result] tells main what
// is done already, and what failed. main reads the command line again, has the
// file open, takes the error as if it had made the call, and goes on from
// there: with another way of locking, or with a message. A child whose
// execve(2) fails returns too: the Go runtime starts in the child, and main
// tells of it. The only message that run writes itself is that the fork was
// refused, since where there can be no process there can be no thread of the
// Go runtime.
//
// run leaves the process as it was when it returns: timers deleted, signal
// dispositions put back. There is one exception, the disposition of SIGCHLD,
// once it comes to the command: the ordinary way has set it to the default by
// then, too.
//
// # What the code may not do
//
// There is no heap, no garbage collector, no scheduler, no initialized package.
// So the code here, and in package pathsearch, does not allocate, append, use a
// map, make or compare a string with ==, convert to an interface, defer, panic,
// start goroutines, store a pointer where a write barrier would watch it, or
// read a variable that an initializer sets. It calls the kernel by
// syscall.RawSyscall6 only. A bounds check that fails would end in a crash.
//
// TestObject reads the compiled package, and fails if it refers to anything in
// the runtime beyond that.
package early
