//go:build darwin || dragonfly || freebsd || illumos || netbsd || openbsd

package lockfile

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// latest is the last second, in the year 2262, whose nanoseconds since 1970 have room in 64 bits.
var latest = time.Unix(math.MaxInt64/int64(time.Second)-1, 0)

// SetModTime sets the modification time, to latest if it is later, and leaves the access time alone.
func (f *File) SetModTime(t time.Time) error {
	var stat unix.Stat_t
	if err := unix.Fstat(f.FD, &stat); err != nil {
		return err
	}
	if t.After(latest) { // its nanoseconds would be those of a time in the past
		t = latest
	}
	return unix.Futimes(f.FD, []unix.Timeval{
		unix.NsecToTimeval(unix.TimespecToNsec(stat.Atim)),
		unix.NsecToTimeval(t.UnixNano()),
	})
}
