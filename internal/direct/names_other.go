//go:build unix && !linux

package direct

import "golang.org/x/sys/unix"

// parse appends the names in the entries of a directory. One with the inode number 0 is no name.
func parse(entries []byte, names []string) []string {
	_, _, names = unix.ParseDirent(entries, -1, names)
	return names
}
