package lockfile

import (
	"errors"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/sys"
)

// openProtected opens a file that open(2) has refused with EACCES only because of O_CREAT. With fs.protected_regular,
// Linux does so for an existing file of another owner in a sticky directory, even for root.
//
// The file is looked at first, by a descriptor that neither opens it nor follows a symbolic link, and then opened
// through that descriptor: the owner of the name cannot put a fifo in between, whose opening would wait, or a link to
// elsewhere.
func openProtected(name string, access Access) (fd int, err error) {
	fd, err = open(name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return -1, err
	}
	if err := openLookedAt(fd, access); err != nil {
		syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

// openLookedAt opens the regular file of a descriptor of O_PATH, under the number of that: so the lock file has the
// lowest free one.
func openLookedAt(fd int, access Access) error {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return syscall.EACCES
	}
	opened, err := open(pathOf(fd), int(access))
	if err != nil {
		return err
	}
	defer syscall.Close(opened)
	return unix.Dup3(opened, fd, 0)
}

// pathOf returns a path by which the file of a descriptor can be opened once more.
func pathOf(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

var errNoProc = errors.New("/proc is missing, which is needed to open it again")

// OpenForBytes returns another open file of the same file, for reading and writing, whose byte locks go with this
// process: the command does not inherit it. Until CloseForBytes it returns the same one. For a program the error
// is ETXTBSY: nobody could run it while it is open for writing.
func (f *File) OpenForBytes() (*File, error) {
	if f.forBytes != nil {
		return f.forBytes, nil
	}
	var stat unix.Stat_t
	if unix.Fstat(f.FD, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFREG && stat.Mode&0o111 != 0 {
		return nil, syscall.ETXTBSY
	}
	// The file may have no name any more.
	fd, err := sys.AboveStandard(open(pathOf(f.FD), syscall.O_RDWR|syscall.O_CLOEXEC))
	switch {
	case err == syscall.ENOENT:
		return nil, errNoProc
	case err != nil:
		return nil, err
	}
	f.forBytes = &File{Name: f.Name, FD: fd}
	return f.forBytes, nil
}

// SwapOpenFile replaces this open file of a local file or directory, under its number, with another one, for reading.
// This releases a lock of the open file, unless another process has that open file, too. The command does not inherit
// it. Opening it neither waits nor is noticed by others, such as a writer to a FIFO.
func (f *File) SwapOpenFile() error {
	var stat unix.Stat_t
	if err := unix.Fstat(f.FD, &stat); err != nil {
		return err
	}
	if kind := stat.Mode & unix.S_IFMT; kind != unix.S_IFREG && kind != unix.S_IFDIR {
		return errors.ErrUnsupported
	}
	// A process may have a lease on it: O_NONBLOCK.
	fd, err := open(pathOf(f.FD), syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC)
	if err != nil {
		return err
	}
	another := &File{Name: f.Name, FD: fd}
	defer another.Close()
	if another.Network() != Local {
		return errors.ErrUnsupported
	}
	return unix.Dup3(fd, f.FD, syscall.O_CLOEXEC)
}

// SetModTime sets the modification time and leaves the access time alone: utimensat(2) without a name, which x/sys/unix
// cannot pass.
func (f *File) SetModTime(t time.Time) error {
	mtime, err := unix.TimeToTimespec(t)
	if err != nil {
		return err
	}
	times := [2]unix.Timespec{{Nsec: unix.UTIME_OMIT}, mtime}
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(f.FD), 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// networkOf returns the kind of a network filesystem on which flock(2) is a lock of all bytes of the file on the
// server: NFS since Linux 2.6.12, SMB since 5.5.
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

// Network returns the kind of the filesystem.
func (f *File) Network() Network {
	var fs unix.Statfs_t
	return networkOf(&fs, unix.Fstatfs(f.FD, &fs))
}

// uncertainFilesystems have locks that a mount option or a server decides about, or, GPFS, flock(2) locks of one node.
var uncertainFilesystems = map[uint32]string{
	0x47504653:            "GPFS",
	0x0bd00bd0:            "Lustre",
	unix.FUSE_SUPER_MAGIC: "FUSE or virtiofs",
	unix.V9FS_MAGIC:       "9p",
}

// Uncertain returns the name of the filesystem if only this machine may see its locks, and otherwise "".
func (f *File) Uncertain() string {
	var fs unix.Statfs_t
	if unix.Fstatfs(f.FD, &fs) != nil {
		return ""
	}
	return uncertainFilesystems[uint32(fs.Type)]
}

// KeepsFromRunning reports whether err says that a program cannot be executed because it is the lock file called name:
// NFS 4 requires that file to be open for writing, and on SMB nobody else can read it.
func KeepsFromRunning(name, program string, err error) bool {
	if err != syscall.ETXTBSY && (err != syscall.EACCES || unix.Access(program, unix.X_OK) != nil) {
		return false
	}
	var fs unix.Statfs_t
	return networkOf(&fs, unix.Statfs(name, &fs)) != Local && IsSame(name, program)
}
