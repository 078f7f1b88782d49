package proc

import (
	"os"
	"os/exec"
	"slices"
	"testing"
)

// TestReader compares what a Reader tells with what the other functions do, and sees that it needs no memory for that.
func TestReader(t *testing.T) {
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	var r Reader
	state, ok := r.State(os.Getpid())
	if !ok || state.Threads < 2 || state.Start == 0 || state.IsDead {
		t.Errorf("%+v", state)
	}
	list := r.Children(nil, os.Getpid(), state.Threads)
	if want := Children(os.Getpid()); !slices.Contains(list, child.Process.Pid) || !slices.Equal(list, want) {
		t.Errorf("%v, want %v", list, want)
	}
	if _, ok := r.State(-1); ok {
		t.Error("a process that cannot be")
	}
	if n := testing.AllocsPerRun(100, func() {
		state, _ := r.State(os.Getpid())
		list = r.Children(list[:0], os.Getpid(), state.Threads)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
