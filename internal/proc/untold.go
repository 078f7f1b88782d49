//go:build aix || darwin || dragonfly || freebsd || illumos || netbsd || openbsd || plan9 || solaris || windows

package proc

import (
	"errors"
	"os"
	"syscall"
)

// IsSetUserID reports whether this process has more rights than its caller, as a set-user-id or set-group-id program.
func IsSetUserID() bool { return os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid() }

// Of other processes' parents, users, commands, descriptors and locks nothing is known on these systems.

func Parent(int) int { return 0 }

func UserID(int) string  { return "" }
func Command(int) string { return "-" }

func ConcealsDescriptors(int) bool { return false }

// FileID returns "": no descriptor of another process is ever compared with it.
func FileID(int) string { return "" }

// SameOpenFile takes a descriptor of our parent for the same open file as ours of the same number.
func SameOpenFile(pid, number, fd int) (same, known bool) {
	return number == fd && pid == syscall.Getppid(), false
}

// FindDescriptor takes our parent to have the open file under the same number.
func FindDescriptor(pid, fd int) (number int, found, known bool) {
	same, _ := SameOpenFile(pid, fd, fd)
	return fd, same, false
}

// Descriptors knows none.
func (OpenedFile) Descriptors(int, string) []int { return nil }

// ClosedBy is never certain.
func (OpenedFile) ClosedBy(pid, number int, id string) bool { return false }

func DescriptorName(pid, number int, id string) (name string, visible bool) { return "", false }

func KernelLocks(name string, fd int) ([]LockHolder, error) {
	return nil, errors.New("this system does not tell who holds a kernel lock")
}
