// Package sys says what the errors of this system mean and how they read. It also prints and sleeps.
//
// Every family of systems defines:
//
//	Text(err) string            the system's own text of an error, as its C library prints it
//	LacksMemory(err) bool       out of memory
//	LacksResources(err) bool    out of memory, descriptors or locks
//	CannotCreate(err) bool      a read-only or full filesystem
//	IsStale(err) bool           a file that its server has removed meanwhile
//	LacksPermission(err) bool   a permission is missing
//	BadDescriptor(err) bool     the descriptor is not open
//	NobodyReads(err) bool       the output is closed, or a pipe without a reader
//	Sleep(d)                    without descriptors, which time.Sleep needs on Unix
//	IsTerminal(fd int) bool     standard output (1) or standard error (2) is a terminal
//	Write(fd, text) error       all of text, to standard output (1) or standard error (2)
//	ErrRange, ErrInvalid        a number out of range, a word that is no number
//
// Unix alone has Is, SameFile and Names.
package sys
