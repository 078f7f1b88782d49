package fallback

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestLastOfAnother has a file over /proc/loadavg, as lxcfs puts one there, which does not tell of this pid namespace.
func TestLastOfAnother(t *testing.T) {
	if os.Getenv("FLOCK_TEST_LOADAVG") != "" {
		if pid := lastID(); pid != 0 {
			t.Errorf("%d", pid)
		}
		return
	}
	if lastID() == 0 {
		t.Skip("nothing tells the last id here")
	}
	file := filepath.Join(t.TempDir(), "loadavg")
	text, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		err = os.WriteFile(file, text, 0o444)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("unshare", "-rm", "true").CombinedOutput(); err != nil {
		t.Skipf("no namespace can be made: %s", out)
	}
	c := exec.Command("unshare", "-rm", "sh", "-c", `mount --bind "$0" /proc/loadavg && exec "$1" -test.run='^TestLastOfAnother$'`, file, os.Args[0])
	c.Env = append(os.Environ(), "FLOCK_TEST_LOADAVG=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestSearchGivesUp: where processes are started faster than they can be looked at, a search ends, and proves nothing.
func TestSearchGivesUp(t *testing.T) {
	was, longest, id := lastID, longestCatchUp, 1<<22 // no process has such an id
	defer func() { lastID, longestCatchUp = was, longest }()
	longestCatchUp = time.Second
	lastID = func() int {
		time.Sleep(20 * time.Millisecond)
		id++
		return id
	}
	file := filepath.Join(t.TempDir(), "f")
	must(os.WriteFile(file, nil, 0o666))
	s := &thisSystem{file: file, opened: -1, fd: -1}
	start := time.Now()
	if s.Search(query{}).complete {
		t.Error("a search ended although there was always a new process")
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}
