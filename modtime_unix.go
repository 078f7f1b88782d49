//go:build darwin || dragonfly || freebsd || illumos || netbsd || openbsd || solaris

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

func modTime(stat *unix.Stat_t) time.Time { return time.Unix(stat.Mtim.Unix()) }

// setModTime sets the modification time of an open file, and leaves the access
// time.
func setModTime(fd int, t time.Time) error {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	return unix.Futimes(fd, []unix.Timeval{
		unix.NsecToTimeval(unix.TimespecToNsec(stat.Atim)),
		unix.NsecToTimeval(t.UnixNano()),
	})
}
