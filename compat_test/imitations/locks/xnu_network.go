//go:build ignore

package locks

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// This is how the kernel of macOS locks on NFS, SMB and whatever has no local locks: flock(2) is the filesystem's, and
// it refuses open file description locks.
const system = "darwin"

var (
	systemFlock     = imitateNetworkFlock
	systemLockBytes = imitateNetworkBytes
)

func imitateNetworkFlock(fd, how int) error {
	return imitateFlock(fd, how, func(int) bool { return false })
}

func imitateNetworkBytes(int, int, *unix.Flock_t) error { return syscall.ENOTSUP }
