package lockfile

import (
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Again opens the file once more, for reading and writing, whether it still has a name or not. The command does not inherit
// that. The error for a program is ETXTBSY: while it is open for writing nobody can run it.
func (f *File) Again() (again *File, err error) {
	var stat unix.Stat_t
	if unix.Fstat(f.FD, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFREG && stat.Mode&0o111 != 0 {
		return nil, syscall.ETXTBSY
	}
	again = &File{Name: f.Name, access: ReadWrite}
	again.FD, err = open("/proc/self/fd/"+strconv.Itoa(f.FD), syscall.O_RDWR|syscall.O_CLOEXEC)
	return again, err
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
