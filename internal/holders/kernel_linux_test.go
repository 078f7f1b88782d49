package holders

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"example.org/flock/fallback"
	"example.org/flock/internal/proc"
)

// TestUnnamedHolders looks for locks in processes that do not have them, as if the one that has them had come since.
func TestUnnamedHolders(t *testing.T) {
	open := func() *os.File {
		f, err := os.Create(filepath.Join(t.TempDir(), "f"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	byFlock, byFcntl := open(), open()
	if err := unix.Flock(int(byFlock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := unix.FcntlFlock(byFcntl.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		t.Fatal(err)
	}
	hidden := Entry{Mode: "exclusive", Note: "a process that this user may not see"}
	another := Entry{Mode: "exclusive", Note: "another process"}
	for _, c := range []struct {
		name          string
		file          *os.File
		pids          []int
		first, second Entry
	}{
		{"the kernel names it", byFlock, []int{1}, Entry{Mode: "exclusive", PID: os.Getpid()},
			Entry{Mode: "exclusive", PID: os.Getpid()}},
		{"all processes show what they have", byFcntl, []int{1}, another, another},
		{"one is hidden", byFcntl, nil, another, hidden},
	} {
		f, err := fileOf(c.file.Name(), -1)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []Entry{c.first, c.second} {
			list, err := f.look(c.pids, query{all: true})
			if err != nil || len(list) != 1 || list[0] != want {
				t.Errorf("%s: look %d: %+v, %v", c.name, i+1, list, err)
			}
		}
	}
}

// TestEndedProcessIsNotHidden looks into a process that is not there.
func TestEndedProcessIsNotHidden(t *testing.T) {
	dir := t.TempDir()
	f, err := fileOf(dir, -1)
	if err != nil {
		t.Fatal(err)
	}
	const noProcess = 1 << 23 // more than the kernel gives out
	f.scan([]int{os.Getpid(), noProcess})
	if f.isRefused {
		t.Error("a process that has ended counts as hidden")
	}
}

// TestDirectoryHolder names holders of the directory lock.
func TestDirectoryHolder(t *testing.T) {
	const noProcess = 1 << 23
	for _, c := range []struct {
		holder fallback.Contender
		note   string
		pid    int
	}{
		{fallback.Contender{PID: os.Getpid()}, "", os.Getpid()},
		{fallback.Contender{PID: noProcess}, "another process", 0},
		{fallback.Contender{}, "another process", 0},
		{fallback.Contender{Where: "that this user may not see"}, "a process that this user may not see", 0},
		{fallback.Contender{PID: 7, Where: "on host b"}, "on host b", 7},
	} {
		if h := directoryHolder(c.holder); h.Note != c.note || h.PID != c.pid {
			t.Errorf("%+v: %+v", c.holder, h)
		}
	}
}

// TestMarks: only a write lock of an open file is a place or a ticket. A read lock there can keep others out, so it is
// shown.
func TestMarks(t *testing.T) {
	for line, want := range map[string]bool{
		"1: OFDLCK ADVISORY  WRITE -1 08:01:12 2305843009213693952 2305843009213693952": true,
		"1: OFDLCK ADVISORY  WRITE -1 08:01:12 2305843013508661249 2305843013508661249": true,
		"1: OFDLCK ADVISORY  READ -1 08:01:12 2305843009213693952 2305843009213693952":  false,
		"1: OFDLCK ADVISORY  READ -1 08:01:12 2305843013508661249 EOF":                  false,
		"1: OFDLCK ADVISORY  WRITE -1 08:01:12 4611686018427387904 4611686018427387904": false,
		"1: POSIX  ADVISORY  WRITE 7 08:01:12 2305843013508661249 2305843013508661249":  false,
		"1: FLOCK  ADVISORY  WRITE 7 08:01:12 0 EOF":                                    false,
	} {
		if all := proc.LocksIn([]byte("lock:\t" + line)); len(all) != 1 || isMark(all[0]) != want {
			t.Errorf("%s: %+v", line, all)
		}
	}
}
