package fallback

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func mkfifo(dir *directory, _, name string) error { return unix.Mkfifoat(dir.dirfd, name, 0o666) }

// askServer asks whether a directory has changed, also where it is mounted with nocto and the client does not.
func askServer(fd int) {
	unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_FORCE_SYNC, unix.STATX_MTIME, new(unix.Statx_t))
}

// isUnmounted reports whether no superblock has a device number any more, where ustat(2) tells.
func isUnmounted(device string) bool {
	number, err := strconv.ParseUint(device, 16, 64)
	return err == nil && unix.Ustat(int(number), new(unix.Ustat_t)) == unix.EINVAL
}

// isMountPoint reports whether a file is a mount point (since Linux 5.8).
func isMountPoint(path string) bool {
	var file, dir unix.Statx_t
	around := path[:strings.LastIndexByte(path, '/')+1]
	return unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_MNT_ID, &file) == nil &&
		unix.Statx(unix.AT_FDCWD, around, 0, unix.STATX_MNT_ID, &dir) == nil &&
		file.Mask&dir.Mask&unix.STATX_MNT_ID != 0 && file.Mnt_id != dir.Mnt_id
}
