package main

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func modTime(stat *unix.Stat_t) time.Time { return time.Unix(stat.Mtim.Unix()) }

// setModTime sets the modification time of an open file, and leaves the access
// time: utimensat(2) with no name, which x/sys/unix cannot pass.
func setModTime(fd int, t time.Time) error {
	mtime, err := unix.TimeToTimespec(t)
	if err != nil {
		return err
	}
	times := [2]unix.Timespec{{Nsec: unix.UTIME_OMIT}, mtime}
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
