package openfile

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/proc"
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
	awaitSleep(t, c.Process.Pid)
	return c.Process.Pid
}

// await waits until something is so, for a minute at most.
func await(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("in vain")
		}
	}
}

func stateOf(pid int) byte {
	s, _ := proc.ReadStat(pid)
	return s.State
}

func awaitSleep(t *testing.T, pid int) {
	t.Helper()
	await(t, func() bool { return stateOf(pid) == 'S' })
}

// startEnded starts a process that has ended, and that nobody has waited for.
func startEnded(t *testing.T) (pid int) {
	t.Helper()
	c := exec.Command("true")
	must(c.Start())
	t.Cleanup(func() { c.Wait() })
	await(t, func() bool { return stateOf(c.Process.Pid) == 'Z' })
	return c.Process.Pid
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
		awaitSleep(t, c.Process.Pid)
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
	await(t, func() bool { // the Go runtime's own thread runs for a while
		was := rest
		rest = restOf(several)
		return len(rest) > 1 && slices.Equal(was, rest)
	})
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
		awaitSleep(t, c.Process.Pid)
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
	if err != nil || len(s.users) != 4 || len(s.groups) != 4 || s.threads == "" || len(strings.Fields(s.switches)) != 2 {
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
	if root := []string{"1", "0"}; isProtected(os.Getpid(), status{users: root}) || isProtected(os.Getpid(), status{users: root[:1]}) {
		t.Error("not only the effective user counts")
	}
}

// TestZombie: what has ended with all its threads has no descriptors.
func TestZombie(t *testing.T) {
	if !isZombie(startEnded(t)) || isZombie(os.Getpid()) || isZombie(1<<22) {
		t.Error("it has descriptors, or has not")
	}
}
