// Package cstart makes the process start like a C program. What the Go runtime changes at its start, and a C program does
// not, would reach the command or the user: signal handlers and the signal mask, closed standard descriptors, the
// environment.
//
// It sets variables of the runtime, for which the linker needs -checklinkname=0 and the build the tag flock_linkname. A
// build without them leaves the runtime as it is (plain.go), and README.md beside the compatibility tests lists what
// then differs.
//
// Every family of systems defines the same functions:
//
//	IsSetUserID()           whether this process has more rights than its caller
//	OpenStandardFiles()     in a set-user-id program, opens the standard descriptors that are closed
//	IsLibrary               the runtime does not call main.main
//	Environ() []string      the environment as it is; syscall.Environ drops duplicates (Unix)
//	Getenv(name)            without the map that os.Getenv makes first
//	DefaultAction(signal)   sets SIG_DFL
//	RestoreMask()           blocks the signals that were blocked at the start
//	CatchAlarm()          keeps a SIGALRM from ending the wait; the command gets its default action
package cstart
