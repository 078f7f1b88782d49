package proc

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// busyWith has a thread of this process do something all the time, until the test ends.
func busyWith(t *testing.T, work func()) {
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		runtime.LockOSThread()
		for {
			select {
			case <-stop:
				return
			default:
				work()
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-stopped })
}

// lowAndHigh returns two free numbers, far from those that new descriptors get, with open ones between them: to look at
// those takes time.
func lowAndHigh(t *testing.T) (low, high int) {
	low, high = 200, 210
	for fd := low + 1; fd < high; fd++ {
		if err := unix.Dup3(0, fd, unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
	}
	return low, high
}

// TestMovedDescriptorIsNotClosed looks for a descriptor that is moved to and fro all the time, as a shell does.
func TestMovedDescriptorIsNotClosed(t *testing.T) {
	low, high := lowAndHigh(t)
	path := filepath.Join(t.TempDir(), "f")
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	id := FileID(fd)
	if err := unix.Dup3(fd, low, unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
	busyWith(t, func() {
		unix.Dup3(low, high, unix.O_CLOEXEC)
		unix.Close(low)
		unix.Dup3(high, low, unix.O_CLOEXEC)
		unix.Close(high)
	})
	for end, n := time.Now().Add(2*time.Second), 0; time.Now().Before(end); n++ {
		if (OpenedFile{Path: path, FD: -1}).ClosedBy(os.Getpid(), low, id) {
			t.Fatalf("taken for closed at look number %d", n)
		}
	}
}

// TestClosedDescriptorOfABusyProcess looks for one that is closed, in a process that runs all the time.
func TestClosedDescriptorOfABusyProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	id := FileID(fd)
	busyWith(t, func() {})
	file := OpenedFile{Path: path, FD: -1}
	if file.ClosedBy(os.Getpid(), fd, id) {
		t.Fatal("taken for closed")
	}
	unix.Close(fd)
	if !file.ClosedBy(os.Getpid(), fd, id) {
		t.Fatal("not known to be closed")
	}
}
