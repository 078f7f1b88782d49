//go:build unix && !linux

package fallback

import (
	"time"

	"golang.org/x/sys/unix"
)

// touch sets the modification time to now.
func (d *directory) touch(name string) error {
	now := unix.NsecToTimespec(time.Now().UnixNano())
	return unix.UtimesNanoAt(d.fd, name, []unix.Timespec{now, now}, unix.AT_SYMLINK_NOFOLLOW)
}
