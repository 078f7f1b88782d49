package compat_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestLockOfAnExtraFile locks a file that has one descriptor number in this process and another one in flock: exec.Cmd
// numbers ExtraFiles from 3.
func TestLockOfAnExtraFile(t *testing.T) {
	needDirectoryLock(t)
	path := filepath.Join(t.TempDir(), "f")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	flock := func(extra []*os.File, args ...string) int {
		c := exec.Command(oursPath, args...)
		c.Env = append(os.Environ(), "FLOCK_BACKEND=directory")
		c.ExtraFiles, c.Stderr = extra, os.Stderr
		c.Run()
		return c.ProcessState.ExitCode()
	}
	expect := func(what string, want, got int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: exit status %d, not %d", what, got, want)
		}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	expect("lock", 0, flock([]*os.File{null, f}, "-n", "4"))
	expect("another one", 1, flock(nil, "-n", path, "true"))
	expect("again, as another number", 0, flock([]*os.File{f}, "-n", "3"))
	expect("unlock", 0, flock([]*os.File{null, null, f}, "-u", "5"))
	expect("another one, after the unlock", 0, flock(nil, "-n", path, "true"))
	expect("lock again", 0, flock([]*os.File{f}, "-n", "3"))
	expect("another one", 1, flock(nil, "-n", path, "true"))
	f.Close()
	expect("another one, after the close", 0, flock(nil, "-n", path, "true"))
}
