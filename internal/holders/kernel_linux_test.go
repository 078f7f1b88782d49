package holders

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReadProcLocks reads the kernel's list, which has several pages, while locks come and go: none of those that
// stay is missing or comes twice.
func TestReadProcLocks(t *testing.T) {
	const staying = 150
	dir := t.TempDir()
	open := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	lock := func(f *os.File, kind int16, start int64) error {
		return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: kind, Start: start, Len: 1})
	}
	stays := open("stays")
	for i := range int64(staying) {
		if err := lock(stays, unix.F_WRLCK, 2*i); err != nil {
			t.Fatal(err)
		}
	}
	f, err := fileOf(stays.Name(), -1)
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	var other sync.WaitGroup
	comes := open("comes")
	other.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				lock(comes, unix.F_WRLCK, 0)
				lock(comes, unix.F_UNLCK, 0)
			}
		}
	})
	for i := range int64(300) {
		// The last lock of the list, and one of ten, others each time: that which a page ends with is often doubled.
		isWanted := func(l kernelLock) bool {
			return f.names[l.file] && (l.start == 0 || l.start/2%10 == 1+i%9)
		}
		listed, err := readProcLocks(isWanted)
		if err != nil {
			t.Error(err)
		}
		if len(listed) != 1+staying/10 {
			t.Errorf("%d locks, not %d", len(listed), 1+staying/10)
		}
	}
	close(over)
	other.Wait()
}
