//go:build unix && !linux

package fallback

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

func (d *directory) names() ([]string, error) {
	// Opened anew each time: that is when an NFS client asks the server whether the directory has changed.
	fd, err := unix.Openat(d.fd, ".", directoryFlags, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), ".")
	defer f.Close()
	return f.Readdirnames(-1)
}

// touch sets the modification time to now.
func (d *directory) touch(name string) error {
	now := unix.NsecToTimespec(time.Now().UnixNano())
	return unix.UtimesNanoAt(d.fd, name, []unix.Timespec{now, now}, unix.AT_SYMLINK_NOFOLLOW)
}
