package openfile

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// startCat starts a process that sleeps until its input is closed, with files as its descriptors from 3 on.
func startCat(t *testing.T, attributes *syscall.SysProcAttr, files ...*os.File) (pid int) {
	t.Helper()
	c := exec.Command("cat")
	c.SysProcAttr, c.ExtraFiles = attributes, files
	in, err := c.StdinPipe()
	must(err)
	out, err := c.StdoutPipe()
	must(err)
	must(c.Start())
	t.Cleanup(func() { in.Close(); c.Wait() })
	in.Write([]byte{'.'})
	out.Read(make([]byte, 1)) // it runs
	awaitSleep(c.Process.Pid)
	return c.Process.Pid
}

func awaitSleep(pid int) {
	for restOf(pid) == nil {
		runtime.Gosched()
	}
}

// TestRest: a process rests while all its threads sleep, and each time that it runs there is another rest.
func TestRest(t *testing.T) {
	c := exec.Command("cat")
	in, err := c.StdinPipe()
	must(err)
	out, err := c.StdoutPipe()
	must(err)
	must(c.Start())
	defer c.Wait()
	defer in.Close()
	answer := func() {
		in.Write([]byte{'.'})
		out.Read(make([]byte, 1))
		awaitSleep(c.Process.Pid)
	}
	answer()
	first := restOf(c.Process.Pid)
	if len(first) != 1 || !slices.Equal(first, restOf(c.Process.Pid)) {
		t.Error("it does not rest: ", first)
	}
	answer()
	if slices.Equal(first, restOf(c.Process.Pid)) {
		t.Error("it has run: ", first)
	}
	if rest := restOf(os.Getpid()); rest != nil {
		t.Error("this process runs: ", rest)
	}
	if rest := restOf(1 << 22); rest != nil {
		t.Error("there is no such process: ", rest)
	}

	run, several := startThreads(t)
	rest := restOf(several)
	for !slices.Equal(rest, restOf(several)) || len(rest) < 2 { // the Go runtime's own thread runs for a while
		rest = restOf(several)
	}
	run()
	if slices.Equal(rest, restOf(several)) {
		t.Error("one of its threads has run: ", rest)
	}
}

// startThreads starts a process of several threads; run has one of them run and sleep again.
func startThreads(t *testing.T) (run func(), pid int) {
	t.Helper()
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), "FALLBACK_ROLE=threads")
	in, err := c.StdinPipe()
	must(err)
	out, err := c.StdoutPipe()
	must(err)
	must(c.Start())
	t.Cleanup(func() { in.Close(); c.Wait() })
	run = func() {
		in.Write([]byte{'.'})
		out.Read(make([]byte, 1))
		awaitSleep(c.Process.Pid)
	}
	run()
	return run, c.Process.Pid
}

// echoInThread answers each byte that it reads. Its first thread has nothing to do.
func echoInThread() {
	runtime.LockOSThread()
	go func() {
		runtime.LockOSThread()
		for b := make([]byte, 1); ; {
			if n, _ := unix.Read(0, b); n < 1 {
				os.Exit(0)
			}
			unix.Write(1, b)
		}
	}()
	select {}
}

// TestSleeps: a thread that runs, or of which it is not counted how often it has run, proves nothing.
func TestSleeps(t *testing.T) {
	for _, c := range []struct {
		state, switches string
		want            bool
	}{
		{"S (sleeping)", "3 4", true},
		{"Z (zombie)", "3 4", true},
		{"R (running)", "3 4", false},
		{"S (sleeping)", "", false},
		{"", "3 4", false},
	} {
		if got := (status{state: c.state, switches: c.switches}).sleeps(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestStatus: what is told of this process, and who is protected against looks by its own user.
func TestStatus(t *testing.T) {
	s, err := readStatus("/proc/self")
	if err != nil || len(s.users) != 4 || len(s.groups) != 4 || s.threads == "" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := readStatus("/proc/0"); !isNowhere(err) {
		t.Error("no process: ", err)
	}
	if !isChild() {
		asChild(t, nil, nil)
		asChild(t, asNobody(t), nil)
		return
	}
	if isProtected(os.Getpid(), s) || isProtected(os.Getpid(), status{}) || isProtected(1<<22, s) {
		t.Error("protected")
	}
	must(unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
	if isProtected(os.Getpid(), s) != (os.Getuid() != 0) {
		t.Error("root's are always root's, others' are not")
	}
}

// TestZombie: what has ended with all its threads has no descriptors.
func TestZombie(t *testing.T) {
	ended := exec.Command("true")
	must(ended.Start())
	for !isZombie(ended.Process.Pid) {
		runtime.Gosched()
	}
	must(ended.Wait())
	if isZombie(ended.Process.Pid) || isZombie(os.Getpid()) {
		t.Error("there is none")
	}
}
