//go:build unix && !linux

package sys

import "golang.org/x/sys/unix"

// parseNames appends the names in the entries of a directory. One with the inode number 0 is no name.
func parseNames(entries []byte, names []string) []string {
	_, _, names = unix.ParseDirent(entries, -1, names)
	return names
}
