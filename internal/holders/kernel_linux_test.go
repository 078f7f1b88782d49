package holders

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReadProcLocks reads the kernel's list, which has several pages, while locks come and go: hardly
// ever is one of those that stay missing or there twice.
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
	wrong := 0
	for range 300 {
		listed, err := readProcLocks(func(l kernelLock) bool { return f.names[l.file] })
		if err != nil {
			t.Error(err)
		}
		if len(listed) != staying {
			wrong++
		}
	}
	if wrong > 3 { // while many others come and go, a few still are
		t.Errorf("%d of 300 readings were wrong", wrong)
	}
	close(over)
	other.Wait()
}
