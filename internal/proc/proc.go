// Package proc asks the system about processes: what one has open, and which locks it has.
//
// Every family of systems defines:
//
//	ThisMachine() Machine       the machine and this run of its kernel
//
// What only Linux tells, the other systems share in proc_other.go:
//
//	Path(fd)                    the name of the file that a descriptor has open
//	Parent(pid)                 the parent of a process, 0 if that is unknown
//	UserID(pid), Command(pid)   for people to read
//	Age(pid)                    how long ago a process was started, 0 if that is unknown
//	KernelLocks(...)            who holds a kernel lock on a file, and who waits for one
//
// Linux alone has Processes, Last, IsCaller, CanTell, Numbers and ReadSmall, which only code for Linux calls.
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
