//go:build ignore

package fallback

import "golang.org/x/sys/unix"

// This is fchmodat(2) of illumos, which cannot keep from following a link, and refuses that for every file.
func init() { fchmodat = imitateChmod }

func imitateChmod(dir int, name string, mode uint32, flags int) error {
	if flags&unix.AT_SYMLINK_NOFOLLOW != 0 {
		return unix.EOPNOTSUPP
	}
	return unix.Fchmodat(dir, name, mode, flags)
}
