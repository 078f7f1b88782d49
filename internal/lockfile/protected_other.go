//go:build unix && !linux

package lockfile

import "syscall"

// openProtected is for a refusal that only Linux has.
func openProtected(string) (fd int, err error) { return -1, syscall.EACCES }
