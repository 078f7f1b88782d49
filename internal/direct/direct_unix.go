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

// Names returns the names in an open directory from its position on, with fewer system calls than os.File.
func Names(dir int) (names []string, err error) {
	b := make([]byte, 8192)
	for {
		n, err := unix.ReadDirent(dir, b)
		switch {
		case err == unix.EINTR:
		case n <= 0:
			return names, err
		default:
			_, _, names = unix.ParseDirent(b[:n], -1, names)
		}
	}
}
