package guard

import (
	"os/exec"
	"testing"
)

// TestLookNeedsNoMemory: a guard looks again and again, for as long as somebody is left who may not be killed.
func TestLookNeedsNoMemory(t *testing.T) {
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	var f family
	state, err := f.finder.reader.Stat(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	p := process{pid: child.Process.Pid, start: state.Start}
	if n := testing.AllocsPerRun(100, func() {
		f.look()
		if err := f.send(p, 0); err != nil {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
