package lockfile

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// networkOf returns the kind of a network filesystem on which flock(2) is a lock of all bytes of the file on the server:
// NFS since Linux 2.6.12, SMB since 5.5.
func networkOf(fs *unix.Statfs_t, err error) Network {
	if err == nil {
		switch uint32(fs.Type) {
		case unix.NFS_SUPER_MAGIC:
			return NFS
		case unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
			return SMB
		}
	}
	return Local
}

// Network returns what is known of the filesystem.
func (f *File) Network() Network {
	var fs unix.Statfs_t
	return networkOf(&fs, unix.Fstatfs(f.FD, &fs))
}

// KeepsFromRunning reports whether err says that a program cannot be executed because it is the lock file called name:
// NFS 4 needs that open for writing, and on SMB nobody else can read it.
func KeepsFromRunning(name, program string, err error) bool {
	if err != syscall.ETXTBSY && (err != syscall.EACCES || unix.Access(program, unix.X_OK) != nil) {
		return false
	}
	var fs unix.Statfs_t
	if networkOf(&fs, unix.Statfs(name, &fs)) == Local {
		return false
	}
	locked, err1 := os.Stat(name)
	executed, err2 := os.Stat(program)
	return err1 == nil && err2 == nil && os.SameFile(locked, executed)
}
