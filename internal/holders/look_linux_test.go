package holders

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/locks"
)

// TestMain is also the program of the processes that startHolder starts.
func TestMain(m *testing.M) {
	name, isHolder := os.LookupEnv("HOLDS")
	if !isHolder {
		os.Exit(m.Run())
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err == nil {
		err = readLock(f)
	}
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString("\n")
	os.Stdin.Read(make([]byte, 1)) // until stop closes it
}

// readLock sets a shared lock of the open file.
func readLock(f *os.File) error {
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK})
}

// startHolder starts a process that holds a shared lock of its open file until stop is called.
func startHolder(t *testing.T, name string) (pid int, stop func()) {
	holder := exec.Command("/proc/self/exe")
	holder.Env = append(os.Environ(), "HOLDS="+name)
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err == nil {
		err = holder.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadByte(); err != nil {
		t.Error(err)
	}
	return holder.Process.Pid, func() {
		in.Close()
		holder.Wait()
	}
}

// create makes a lock file.
func create(t *testing.T) *os.File {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// all returns all who have a kernel lock on a file or wait for one.
func all(t *testing.T, f *os.File) []Entry {
	list, err := kernelHolders(lockfile.Unopened(f.Name()), query{all: true})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestHoldersThatComeAndGo looks for holders that end soon. Each ends when the next one has its lock, on another byte,
// so there is always one.
func TestHoldersThatComeAndGo(t *testing.T) {
	f := create(t)
	hold := func(i int64) *os.File {
		holder, err := os.OpenFile(f.Name(), os.O_RDWR, 0)
		if err == nil {
			lock := unix.Flock_t{Type: unix.F_WRLCK, Start: i, Len: 1}
			err = unix.FcntlFlock(holder.Fd(), unix.F_OFD_SETLK, &lock)
		}
		if err != nil {
			t.Error(err)
		}
		return holder
	}
	last := hold(0)
	over := make(chan struct{})
	var holders sync.WaitGroup
	holders.Go(func() {
		for i := int64(1); ; i++ {
			next := hold(i)
			last.Close()
			last = next
			select {
			case <-over:
				last.Close()
				return
			default:
			}
		}
	})
	for range 10 {
		if list := all(t, f); len(list) == 0 {
			t.Error("nobody holds the lock")
		}
	}
	close(over)
	holders.Wait()
}

// TestManyLocks looks for a process that has so many locks that its fdinfo has several pages.
func TestManyLocks(t *testing.T) {
	f := create(t)
	for i := range int64(400) {
		lock := unix.Flock_t{Type: unix.F_WRLCK, Start: 2 * i, Len: 1}
		if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock); err != nil {
			t.Fatal(err)
		}
	}
	want := []Entry{{PID: os.Getpid(), Mode: "exclusive"}}
	if list := all(t, f); !slices.Equal(list, want) {
		t.Errorf("%d rows, %+v", len(list), list[0])
	}
}

// TestEqualLock looks for who keeps this process from an exclusive lock, while it has a shared one that looks in the
// kernel's list as that of another process does.
func TestEqualLock(t *testing.T) {
	f := create(t)
	if err := readLock(f); err != nil {
		t.Fatal(err)
	}
	pid, stop := startHolder(t, f.Name())
	defer stop()
	list := InTheWay(lockfile.Descriptor(int(f.Fd())), locks.Config{Fcntl: true}, locks.Exclusive)
	if want := []Entry{{PID: pid, Mode: "shared"}}; !slices.Equal(list.All, want) {
		t.Errorf("%+v", list.All)
	}
}

// TestLockInFlight looks for locks that no process shows: their open file is on its way between two.
func TestLockInFlight(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("another user may have it")
	}
	f, flying := create(t), create(t)
	sent, err := os.OpenFile(f.Name(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	turn := unix.Flock_t{Type: unix.F_WRLCK, Start: 1<<62 - 1, Len: 1}
	for fd, lock := range map[*os.File]unix.Flock_t{
		f: {Type: unix.F_RDLCK, Len: 1}, sent: {Type: unix.F_RDLCK}, flying: turn} {
		if err := unix.FcntlFlock(fd.Fd(), unix.F_OFD_SETLK, &lock); err != nil {
			t.Fatal(err)
		}
	}
	name := flying.Name()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	rights := unix.UnixRights(int(sent.Fd()), int(flying.Fd()))
	if err := unix.Sendmsg(pair[0], []byte{0}, rights, nil, 0); err != nil {
		t.Fatal(err)
	}
	sent.Close()
	flying.Close()
	want := []Entry{{Mode: "shared", Note: "another process"}, {PID: os.Getpid(), Mode: "shared"}}
	if list := all(t, f); !slices.Equal(list, want) {
		t.Errorf("%+v", list)
	}
	list, err := kernelHolders(lockfile.Unopened(name), query{all: true})
	if want := []Entry{{Mode: "permit", Waiting: true}}; err != nil || !slices.Equal(list, want) {
		t.Errorf("the turn for a permit: %+v, %v", list, err)
	}
	rows, _ := List{All: list}.Rows()
	if got := strings.Join(slices.Concat(rows...), " "); got != "- permit (waiting) - - " {
		t.Errorf("the turn for a permit: %q", got)
	}
}
