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
// run does all the work and ends the process, or it returns. Then flock_entry jumps to the entry point of the Go
// runtime, which starts as usual and calls main.
//
// Without the flag, flock_entry is not in the program, nothing here is called, and the program does the same, only
// slower.
//
// # What run does
//
// It handles runs that print nothing: the options of util-linux, spelled out (or --nonblock), except --verbose, --start and --length;
// a kernel lock; a command, a number, or -u. For every other option or number, and if FLOCK_BACKEND is set, it returns
// before it has changed anything.
//
// If a system call fails before the command is started, run closes what it opened, deletes its timer, restores the
// signal mask and the disposition of SIGALRM, and returns. main then begins from the start and meets the same error,
// for which it knows another way or a message. A file that run has created stays.
//
// What happens later cannot be undone, and [Failed] tells it to main: that the command cannot be executed, in the child
// or, with --no-fork, in place of this process; and that the command runs but cannot be waited for.
//
// run writes messages itself where the Go runtime may not start: that the fork failed, since the threads of the runtime
// could not be created either; and under a limit of memory, what has failed, or that the limit is too low for the
// runtime. If there is a limit, run tries to map what the runtime needs at least before it returns.
// flock_entry writes that arch_prctl(2) is forbidden, on amd64: without it nothing can run.
//
// # What the code may not do
//
// There is no heap, no garbage collector, no scheduler, and no package is initialized. So the code here and in packages
// alarm and pathsearch does not allocate, append, use a map, build strings or compare them with ==, convert to an
// interface, defer, panic, start goroutines, store a pointer where the compiler adds a write barrier, or read a
// variable that an initializer sets. It calls the kernel with syscall.RawSyscall6 only. If a bounds check fails, it
// crashes. Of packages that need the runtime it uses constants only, and the text of a known syscall.Errno.
//
// TestObject reads the compiled packages, and fails if they refer to anything else in the runtime.
package early
