//go:build unix

package sys

import (
	"io"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// readPage reads entries of an open directory, from its position on.
var readPage = unix.ReadDirent

// readsToEnd reports whether one call of readPage ends only at the end of the directory or of the buffer. That of
// macOS opens the directory anew in each call and skips as many entries as the calls before have shown, so two calls
// fit together only if nothing has changed between them.
var readsToEnd = runtime.GOOS == "darwin"

// firstSize is the size of a buffer that is large enough for nearly all directories, and largestEntry more than what
// the entry of one name takes.
const firstSize, largestEntry = 16 << 10, 2 << 10

// pages are buffers of that size, which are used again: a search lists the descriptors of each process.
var pages = sync.Pool{New: func() any { return new([firstSize]byte) }}

// NamesAtOnce returns the names in an open directory, if possible by one call: a name that is there all the time may be
// missed between two. macOS counts entries, see readsToEnd; and the UFS of BSDs, when it makes an entry, moves others
// of the same block forwards, while a call can begin in the middle of a block.
//
// Where a call returns less than there was room for, as on FUSE and NFS, the filesystem must know how to go on.
func NamesAtOnce(dir int) ([]string, error) {
	page := pages.Get().(*[firstSize]byte)
	defer pages.Put(page)
	for b := page[:]; ; b = make([]byte, 4*len(b)) {
		names, isFull, err := readNames(dir, b, true)
		if err != nil || !isFull {
			return names, err
		}
		if _, err := unix.Seek(dir, 0, io.SeekStart); err != nil {
			return nil, err
		}
	}
}

// Names returns the names in an open directory from its position on, with fewer system calls than os.File. It is for
// /proc, where each process has its place, so that pages fit together.
func Names(dir int) ([]string, error) {
	page := pages.Get().(*[firstSize]byte)
	defer pages.Put(page)
	names, _, err := readNames(dir, page[:], false)
	return names, err
}

// readNames reads the names in an open directory from its position on, by as many calls as it takes. With atOnce it
// ends at a page after which the buffer could not have held one more entry, and reports that.
func readNames(dir int, b []byte, atOnce bool) (names []string, isFull bool, err error) {
	for {
		n, err := Retry(func() (int, error) { return readPage(dir, b) })
		switch {
		case n <= 0:
			return names, false, err
		case atOnce && len(b)-n < largestEntry:
			return nil, true, nil
		}
		names = parseNames(b[:n], names)
		if atOnce && readsToEnd {
			return names, false, nil
		}
	}
}
