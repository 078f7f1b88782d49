package sys

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// A countedDir is a directory that is read by count, as unix.ReadDirent of macOS does it: each call skips as many
// entries as the offset of the descriptor says, and adds those that it returns. Between two calls its first name goes
// and another comes at the end.
type countedDir struct {
	names []string
	calls int
}

func (d *countedDir) read(fd int, b []byte) (n int, err error) {
	if d.calls++; d.calls > 1 {
		d.names = append(d.names[1:], fmt.Sprintf("new,%d", d.calls))
	}
	shown, err := unix.Seek(fd, 0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	for _, name := range d.names[min(shown, int64(len(d.names))):] {
		e := entry(1, name)
		if n+len(e) > len(b) {
			break
		}
		n += copy(b[n:], e)
		shown++
	}
	_, err = unix.Seek(fd, shown, io.SeekStart)
	return n, err
}

// entry is a struct linux_dirent64.
func entry(inode uint64, name string) []byte {
	const header = 8 + 8 + 2 + 1
	e := make([]byte, (header+len(name)+1+7)/8*8)
	binary.NativeEndian.PutUint64(e, inode)
	binary.NativeEndian.PutUint16(e[16:], uint16(len(e)))
	copy(e[header:], name)
	return e
}

// TestNameThatStays: names that are there all the time are in each listing, although others go meanwhile.
func TestNameThatStays(t *testing.T) {
	defer func() { readPage, readsToEnd = unix.ReadDirent, false }()
	readsToEnd = true
	for _, count := range []int{1, 50, 60, 61, 200, 1000, 5000} {
		dir := new(countedDir)
		for i := range count {
			dir.names = append(dir.names, fmt.Sprintf("excl,%0145d", i))
		}
		readPage = dir.read
		offset, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		before := dir.names
		got, err := NamesAtOnce(int(offset.Fd()))
		offset.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range before[dir.calls-1:] { // those that are still there
			if !slices.Contains(got, name) {
				t.Errorf("of %d names, %.20s...%s is missed", count, name, name[len(name)-4:])
				break
			}
		}
	}
}

// TestNames reads real directories, of one page and of several.
func TestNames(t *testing.T) {
	for _, count := range []int{0, 1, 700} {
		dir := t.TempDir()
		var want []string
		for i := range count {
			name := fmt.Sprintf("%0145d", i)
			want = append(want, name)
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for what, read := range map[string]func(int) ([]string, error){"Names": Names, "NamesAtOnce": NamesAtOnce} {
			fd, err := unix.Open(dir, unix.O_RDONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			got, err := read(fd)
			unix.Close(fd)
			if slices.Sort(got); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %d of %d names, %v", what, len(got), count, err)
			}
		}
	}
}

// TestNameWithoutInode: some filesystems in user space give the inode number 0 to all names of a listing.
func TestNameWithoutInode(t *testing.T) {
	entries := slices.Concat(entry(7, "."), entry(0, ".."), entry(0, "free"), entry(9, "excl,1"))
	if got := parseNames(entries, nil); !slices.Equal(got, []string{"free", "excl,1"}) {
		t.Errorf("%q", got)
	}
}
