package sys

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// parseNames appends the names in the entries of a directory. It is not unix.ParseDirent, which leaves out entries with
// the inode number 0, as some filesystems in user space give to all of theirs.
func parseNames(entries []byte, names []string) []string {
	// struct linux_dirent64: d_ino, d_off, d_reclen, d_type, d_name
	const length, name = 16, 19
	for len(entries) > name {
		n := int(binary.NativeEndian.Uint16(entries[length:]))
		if s := unix.ByteSliceToString(entries[name:n]); s != "." && s != ".." {
			names = append(names, s)
		}
		entries = entries[n:]
	}
	return names
}
