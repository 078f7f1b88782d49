//go:build ignore

package locks

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// This is flock(2) of FreeBSD on NFSv4, where it is a lock of all bytes on the server: it needs a descriptor that is
// open for writing, and for a shared lock for reading. Every answer of the server that has no errno becomes EACCES.
const system = "freebsd"

var systemFlock = imitateNFSFlock

func imitateNFSFlock(fd, how int) error {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	access := flags & unix.O_ACCMODE
	switch kind := how &^ unix.LOCK_NB; {
	case err != nil:
		return err
	case kind == unix.LOCK_EX && access == unix.O_RDONLY, kind == unix.LOCK_SH && access == unix.O_WRONLY:
		return syscall.EACCES
	}
	return imitateFlock(fd, how, func(int) bool { return false })
}
