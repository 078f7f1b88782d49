package fallback

import (
	"strings"

	"golang.org/x/sys/unix"
)

// tellsEnd reports whether the system tells a waiter that nobody has another's lifeline any more: poll(2) wakes who has
// a FIFO open for writing when its last reader goes.
var tellsEnd = true

// modeFIFO is the mode of FIFOs. Its sticky bit keeps them from systemd-tmpfiles(8), which removes old files from /tmp.
const modeFIFO = unix.S_ISVTX | 0o666

func mkfifo(dir *directory, _, name string) error { return unix.Mkfifoat(dir.dirfd, name, 0o666) }

// askServer asks whether a directory has changed, also where it is mounted with nocto and the client does not.
func askServer(fd int) {
	unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_FORCE_SYNC, unix.STATX_MTIME, new(unix.Statx_t))
}

// refresh has the client of NFS ask for the names in a directory anew. By NFS 3, only the modification time tells that
// it has changed: who has listed it between two changes within one tick of the server's clock never learns of the
// second one. The client drops what it knows when it changes the directory itself.
func (d *directory) refresh() {
	var of unix.Statfs_t
	if unix.Fstatfs(d.dirfd, &of) == nil && of.Type == unix.NFS_SUPER_MAGIC {
		now := unix.Timespec{Nsec: unix.UTIME_NOW}
		unix.UtimesNanoAt(d.dirfd, ".", []unix.Timespec{now, now}, 0)
	}
}

// isMountPoint reports whether a file is a mount point (since Linux 5.8).
func isMountPoint(path string) bool {
	var file, dir unix.Statx_t
	around := path[:strings.LastIndexByte(path, '/')+1]
	return unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_MNT_ID, &file) == nil &&
		unix.Statx(unix.AT_FDCWD, around, 0, unix.STATX_MNT_ID, &dir) == nil &&
		file.Mask&dir.Mask&unix.STATX_MNT_ID != 0 && file.Mnt_id != dir.Mnt_id
}

// inherit lets the processes that this one starts have the lifeline. It and the locked file swap their numbers, unless
// that of the file is below 3.
func (l lifeline) inherit(fd int) (moved lifeline, file int, err error) {
	if fd < 3 {
		_, err := unix.FcntlInt(uintptr(l), unix.F_SETFD, 0)
		return l, fd, err
	}
	spare, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, fd)
	if err != nil {
		return l, fd, err
	}
	defer unix.Close(spare)
	if err := unix.Dup3(int(l), fd, 0); err != nil {
		return l, fd, err
	}
	return lifeline(fd), int(l), unix.Dup3(spare, int(l), 0)
}
