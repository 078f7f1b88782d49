//go:build unix

package direct

import (
	"time"

	"golang.org/x/sys/unix"
)

// SameFile reports whether both are of one file.
func SameFile(a, b *unix.Stat_t) bool { return a.Dev == b.Dev && a.Ino == b.Ino }

// Sleep pauses for d. It is not time.Sleep, which opens descriptors at its first call and ends the process if there are
// none.
func Sleep(d time.Duration) {
	t := unix.NsecToTimeval(int64(d))
	unix.Select(0, nil, nil, nil, &t)
}
