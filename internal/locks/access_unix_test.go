//go:build unix

package locks

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/lockfile"
)

// TestDescriptorLacksAccess: where flock(2) is a lock of bytes on a server, it needs a file that is open for writing.
// One that flock opens by name is reopened; a descriptor is an error with a hint, and nobody waits for it.
func TestDescriptorLacksAccess(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	byName, err := lockfile.Open(name, lockfile.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer byName.Close()
	if err := systemFlock(byName.FD, unix.LOCK_EX|unix.LOCK_NB); err == nil {
		t.Skip("this filesystem locks what is open for reading only")
	}
	if err := New(byName, Config{Flock: true}).Lock(Exclusive, Try); err != nil {
		t.Errorf("opened by name: %v", err)
	}
	number, err := unix.Open(name, unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(number)
	for _, timeout := range []Timeout{Try, Until(time.Now().Add(time.Hour)), Forever} {
		err = New(lockfile.Descriptor(number), Config{Flock: true}).Lock(Exclusive, timeout)
		var failed *failure.Error
		if !errors.As(err, &failed) || !errors.Is(err, syscall.EBADF) || !strings.HasPrefix(failed.Hint, "on NFS") {
			t.Fatalf("a descriptor: %v", err)
		}
	}
	if err := New(byName, Config{Flock: true}).Unlock(); err != nil {
		t.Error(err)
	}
	if err := New(lockfile.Descriptor(number), Config{Flock: true}).Lock(Shared, Try); err != nil {
		t.Errorf("a shared lock: %v", err)
	}
}

// TestQueueOfADescriptor: where a place in the queue is a directory lock, which no descriptor can have, that is said at
// once, rather than when somebody has the lock.
func TestQueueOfADescriptor(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	config := Config{Flock: true, Fcntl: true, Directory: true, Queue: 2}
	queue, err := NewQueue(lockfile.Descriptor(int(file.Fd())), config)
	var failed *failure.Error
	switch {
	case HasPlaces && err != nil:
		t.Error(err)
	case HasPlaces:
		queue.Unlock()
	case !errors.As(err, &failed) || failed.Status != failure.ExDataErr || !strings.Contains(failed.Text, "descriptor"):
		t.Errorf("%v", err)
	}
}
