package lockfile

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

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
