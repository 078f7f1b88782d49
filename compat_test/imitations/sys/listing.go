//go:build ignore

package sys

import (
	"encoding/binary"
	"io"

	"golang.org/x/sys/unix"
)

// This is how unix.ReadDirent of macOS lists a directory: each call opens it anew, skips as many entries as the offset
// of the descriptor says, and goes on to the end of the directory or of the buffer. Between two calls a name has gone
// that was before the others: each later page begins one entry too late.
func init() { readPage, readsToEnd = imitateCount, true }

func imitateCount(fd int, b []byte) (n int, err error) {
	var of unix.Statfs_t
	if unix.Fstatfs(fd, &of) == nil && of.Type == unix.PROC_SUPER_MAGIC { // there is none on macOS
		return unix.ReadDirent(fd, b)
	}
	shown, err := unix.Seek(fd, 0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	entries, err := imitateAll(fd)
	if err != nil {
		return 0, err
	}
	skipped := shown
	if shown > 0 {
		skipped++
	}
	for _, e := range entries[min(skipped, int64(len(entries))):] {
		if n+len(e) > len(b) {
			break
		}
		n += copy(b[n:], e)
		shown++
	}
	_, err = unix.Seek(fd, shown, io.SeekStart)
	return n, err
}

// imitateAll returns all entries of a directory.
func imitateAll(dir int) (entries [][]byte, err error) {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for {
		page := make([]byte, 64<<10)
		n, err := unix.ReadDirent(fd, page)
		if err != nil || n <= 0 {
			return entries, err
		}
		for page = page[:n]; len(page) > 0; {
			length := binary.NativeEndian.Uint16(page[16:])
			entries, page = append(entries, page[:length]), page[length:]
		}
	}
}
