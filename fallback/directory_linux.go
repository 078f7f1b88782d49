package fallback

import "golang.org/x/sys/unix"

// touch sets the modification time to now, by the clock of the server.
func (d *directory) touch(name string) error {
	now := unix.Timespec{Nsec: unix.UTIME_NOW}
	return unix.UtimesNanoAt(d.fd, name, []unix.Timespec{now, now}, unix.AT_SYMLINK_NOFOLLOW)
}

// isLocal reports whether the directory is surely on this machine.
func (d *directory) isLocal() bool {
	var fs unix.Statfs_t
	if unix.Fstatfs(d.fd, &fs) != nil {
		return false
	}
	switch uint32(fs.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		return true
	}
	return false
}
