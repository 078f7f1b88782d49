package proc

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLocks reads the kernel's list, which has several pages, while locks come and go, up to forty at a time, so
// that what is at the border of two pages moves: none of the locks that stay is missing or comes twice.
func TestLocks(t *testing.T) {
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
	var stat unix.Stat_t
	if err := unix.Fstat(int(stays.Fd()), &stat); err != nil {
		t.Fatal(err)
	}
	fdinfo, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", stays.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	name := NameInLocks(&stat, fdinfo)
	over := make(chan struct{})
	var other sync.WaitGroup
	comes := open("comes")
	other.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				n := rand.Int64N(40)
				for i := range n {
					lock(comes, unix.F_WRLCK, 2*i)
				}
				for i := range n {
					lock(comes, unix.F_UNLCK, 2*i)
				}
			}
		}
	})
	for i := range int64(150) {
		// The last lock of the list, and one of ten, others each time: that which a page ends with is often doubled.
		isWanted := func(l Lock) bool {
			return l.File == name && (l.Start == 0 || l.Start/2%10 == 1+i%9)
		}
		listed, err := Locks(isWanted)
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
