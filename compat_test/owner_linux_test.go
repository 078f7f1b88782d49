package compat_test

import (
	"bufio"
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

// TestRootsLock has root's subshell hold a lock whose taker and whose script have ended. Another user, who may not look into
// root's processes, neither gets it nor takes it from root, and gets it when the subshell has ended.
func TestRootsLock(t *testing.T) {
	needDirectoryLock(t)
	d := makeStickyDir(t)
	t.Setenv("FLOCK_BACKEND", "directory")
	root := exec.Command("sh", "-c", `umask 0; exec 3<&0 9>lock; ( timeout 5 "$0" 9 || exit; echo in; read line <&3 ) & exit`, oursPath)
	root.Dir, root.Stderr = d.path, os.Stderr
	in, err := root.StdinPipe()
	d.must(err)
	defer in.Close()
	out, err := root.StdoutPipe()
	d.must(err)
	d.must(root.Start())
	said := bufio.NewReader(out)
	line, err := said.ReadString('\n')
	d.must(err)
	if line != "in\n" {
		t.Fatal(line)
	}
	d.must(func() error { _, err := root.Process.Wait(); return err }())
	for _, user := range []int{otherID, 0, otherID} {
		d.expect("1", user, oursPath, "-n", "lock", "true")
	}
	in.Close()
	said.ReadString('\n') // until the subshell has ended
	d.expect("0", otherID, oursPath, "-w", "15", "lock", "true")
}
