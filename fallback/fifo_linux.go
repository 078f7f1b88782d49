package fallback

import (
	"strconv"

	"golang.org/x/sys/unix"
)

func makeFIFO(dir *directory, _, name string) error { return unix.Mkfifoat(dir.dirfd, name, 0o666) }

// isUnmounted reports whether no superblock has a device number any more, where ustat(2) tells.
func isUnmounted(device string) bool {
	number, err := strconv.ParseUint(device, 16, 64)
	return err == nil && unix.Ustat(int(number), new(unix.Ustat_t)) == unix.EINVAL
}
