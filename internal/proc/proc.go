// Package proc asks the system about processes, and which machine this is. What a system does not tell is empty: Linux alone
// tells most of it.
package proc

// A Machine is this machine, and this run of its kernel. What a system does not tell is "".
type Machine struct {
	Boot      string // this run of the kernel
	Namespace string // where process ids are counted
	ID        string // outlives a reboot
}
