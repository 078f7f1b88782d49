//go:build darwin || dragonfly || freebsd || illumos || netbsd || openbsd

package lockfile

import (
	"time"

	"golang.org/x/sys/unix"
)

// SetModTime sets the modification time and leaves the access time alone.
func (f *File) SetModTime(t time.Time) error {
	var stat unix.Stat_t
	if err := unix.Fstat(f.FD, &stat); err != nil {
		return err
	}
	return unix.Futimes(f.FD, []unix.Timeval{
		unix.NsecToTimeval(unix.TimespecToNsec(stat.Atim)),
		unix.NsecToTimeval(t.UnixNano()),
	})
}
