package proc

import (
	"os"
	"os/exec"
	"slices"
	"testing"
)

// TestReader compares the children that a Reader finds with those of each thread, and sees that it needs no memory.
func TestReader(t *testing.T) {
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	var r Reader
	state, err := r.Stat(os.Getpid())
	if err != nil || state.Threads < 2 || state.Start == 0 || state.IsDead() {
		t.Errorf("%+v", state)
	}
	list := r.Children(nil, os.Getpid(), state.Threads)
	var want []int
	threads, err := Numbers("/proc/self/task")
	for _, thread := range threads {
		more, _ := ChildrenOf(os.Getpid(), thread)
		want = append(want, more...)
	}
	if err != nil || !slices.Contains(list, child.Process.Pid) || !slices.Equal(list, want) {
		t.Errorf("%v, want %v", list, want)
	}
	if _, err := r.Stat(-1); err == nil {
		t.Error("a process that cannot be")
	}
	if n := testing.AllocsPerRun(100, func() {
		state, _ := r.Stat(os.Getpid())
		list = r.Children(list[:0], os.Getpid(), state.Threads)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestIsDead judges what the kernel says of a first thread that has ended.
func TestIsDead(t *testing.T) {
	for s, want := range map[Stat]bool{
		{State: 'Z', Threads: 1}: true,
		{State: 'X', Threads: 1}: true,
		{State: 'Z', Threads: 2}: false, // others have not
		{State: 'X', Threads: 0}: false, // another one has called execve(2), and is the first one now
		{State: 'S', Threads: 1}: false,
	} {
		if s.IsDead() != want {
			t.Errorf("%+v", s)
		}
	}
}
