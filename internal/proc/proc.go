// Package proc asks the system about processes: when one was started, what it has open, which locks it has.
//
// Every family of systems defines:
//
//	ThisMachine() Machine       the machine and this run of its kernel
//	Start(pid)                  the start time of a process, and whether it is alive
//	Path(fd)                    the name under which a descriptor's file was opened
//
// What only Linux tells, the other systems share in proc_unknown.go, with the answers that are safe:
//
//	CanTell() error             why processes cannot be told apart here, nil if they can
//	Parent(pid)                 the parent of a process, 0 if that is unknown
//	UserID(pid), Command(pid)   for people to read
//	IsCaller, IsStopped, Age    what a process does, and since when
//	Processes, Last, IsProcess  which processes there are
//	MayDescend                  which of them may have inherited something from this one
//	KernelLocks(...)            who holds a kernel lock on a file, and who waits for one
//
// Linux alone has Descendants, IsEnding, Numbers and ReadSmall, which only code for Linux calls.
package proc

// A Machine is this machine, and this run of its kernel. What a system does not tell is "".
type Machine struct {
	Boot      string // this run of the kernel
	Namespace string // where process ids are counted
	ID        string // outlives a reboot
}

// A LockHolder is a process that holds a kernel lock, or waits for one.
type LockHolder struct {
	PID     int    // 0: this user may not see it
	Mode    string // exclusive, shared or permit
	Waiting bool
}
