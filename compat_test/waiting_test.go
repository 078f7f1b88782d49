//go:build linux

package compat_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Waiting for the directory lock. The bounds are for a machine that is busy with other things.

// A line is some flock commands that wait for the directory lock f while a holder has it.
type line struct {
	t      *testing.T
	dir    string
	holder *exec.Cmd
	in     *os.File // the holder's input: it ends with that
}

func newLine(t *testing.T, dir string, holder ...string) *line {
	needDirectoryLock(t)
	l := &line{t: t, dir: dir}
	if holder == nil {
		holder = []string{oursPath, "f", "cat"}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	l.in, l.holder = w, l.command(holder...)
	l.holder.Stdin = r
	l.start(l.holder)
	r.Close()
	t.Cleanup(func() { w.Close() })
	l.await("a holder", func() bool { return len(l.names("excl,")) > 0 })
	return l
}

func (l *line) command(words ...string) *exec.Cmd {
	c := exec.Command(words[0], words[1:]...)
	c.Dir = l.dir
	c.Env = append(os.Environ(), "FLOCK_BACKEND=directory", "PATH="+filepath.Dir(oursPath)+":"+os.Getenv("PATH"))
	c.Stdout = new(bytes.Buffer)
	c.Stderr = c.Stdout
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

// start starts a command, all of whose processes are killed with the test.
func (l *line) start(c *exec.Cmd) {
	l.t.Helper()
	if err := c.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { unix.Kill(-c.Process.Pid, unix.SIGKILL) })
}

// join starts n more waiters, each when the one before it is in the line.
func (l *line) join(n int, words ...string) (cs []*exec.Cmd) {
	l.t.Helper()
	for range n {
		before := len(l.names("wait,"))
		c := l.command(words...)
		l.start(c)
		l.await("a waiter", func() bool { return len(l.names("wait,")) > before })
		cs = append(cs, c)
	}
	return cs
}

func (l *line) names(prefix string) (names []string) {
	entries, _ := os.ReadDir(filepath.Join(l.dir, ".f.flock"))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	return names
}

func (l *line) await(what string, f func() bool) {
	l.t.Helper()
	for end := time.Now().Add(tortureBound); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			l.t.Fatal("still not there: ", what)
		}
	}
}

// finish waits for commands, which must succeed, and returns how long that took.
func (l *line) finish(cs ...*exec.Cmd) time.Duration {
	l.t.Helper()
	started := time.Now()
	for _, c := range cs {
		late := time.AfterFunc(tortureBound, func() { c.Process.Kill() })
		if err := c.Wait(); err != nil {
			l.t.Errorf("%q: %v %s", c.Args, err, c.Stdout)
		}
		late.Stop()
	}
	return time.Since(started)
}

// waits counts how often the threads of a process and of its descendants have gone to sleep.
func waits(pid int) (sum int) {
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		_, value, _ := strings.Cut(string(text), "\nvoluntary_ctxt_switches:\t")
		n := 0
		fmt.Sscan(value, &n)
		sum += n
	}
	for _, child := range children(pid) {
		sum += waits(child)
	}
	return sum
}

func TestWaitingCostsNothing(t *testing.T) {
	for _, c := range []struct {
		name           string
		holder, waiter []string
		perSecond      float64
	}{
		{"waiter", nil, []string{"sh", "-c", "flock f true"}, 2},
		{"waiter for a descriptor", []string{"sh", "-c", "exec 9>f; flock 9; read line; :"},
			[]string{"sh", "-c", "exec 9>f; flock 9"}, 2},
		{"waiter with a limit", nil, []string{"sh", "-c", "flock -w 1000 f true"}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLine(t, t.TempDir(), c.holder...)
			w := l.join(1, c.waiter...)[0]
			for _, who := range []struct {
				name      string
				pid       int
				perSecond float64
			}{{"waiter", w.Process.Pid, c.perSecond}, {"holder", l.holder.Process.Pid, 0.2}} {
				const seconds = 5
				n := 0
				for range 4 { // after a while all is settled
					before := waits(who.pid)
					time.Sleep(seconds * time.Second)
					if n = waits(who.pid) - before; float64(n) <= who.perSecond*seconds {
						break
					}
				}
				if float64(n) > who.perSecond*seconds {
					t.Errorf("the %s wakes %d times in %d seconds", who.name, n, seconds)
				}
			}
			l.in.Close()
			l.finish(l.holder, w)
		})
	}
}

// Waiters that are stopped or killed do not keep the others from getting through.
func TestEldestWaiterStopped(t *testing.T) {
	for _, stopped := range []int{1, 3, 5} { // of which up to three would have been told
		t.Run(fmt.Sprint(stopped), func(t *testing.T) {
			t.Parallel()
			l := newLine(t, t.TempDir())
			elders := l.join(stopped, oursPath, "f", "true")
			for _, c := range elders {
				unix.Kill(-c.Process.Pid, unix.SIGSTOP)
			}
			others := l.join(4, oursPath, "f", "true")
			l.in.Close()
			t.Logf("the others were through after %v", l.finish(append(others, l.holder)...))
			for _, c := range elders {
				unix.Kill(-c.Process.Pid, unix.SIGCONT)
			}
			l.finish(elders...)
			if names := l.names(""); len(names) != 1 || names[0] != "free" {
				t.Errorf("left: %q", names)
			}
		})
	}
}

func TestEldestWaiterKilled(t *testing.T) {
	l := newLine(t, t.TempDir())
	elders := l.join(6, oursPath, "f", "true")
	others := l.join(3, oursPath, "f", "true")
	for _, c := range elders {
		unix.Kill(-c.Process.Pid, unix.SIGKILL)
		c.Wait()
	}
	l.in.Close()
	t.Logf("the others were through after %v", l.finish(append(others, l.holder)...))
	if names := l.names(""); len(names) != 1 || names[0] != "free" {
		t.Errorf("left: %q", names)
	}
}

func TestWaiterWithoutSupervisorEnds(t *testing.T) {
	l := newLine(t, t.TempDir())
	for range 6 { // the eldest and others
		c := l.join(1, oursPath, "f", "true")[0]
		waiter := children(c.Process.Pid)[0]
		fd, err := unix.PidfdOpen(waiter, 0)
		if err != nil {
			t.Fatal(err)
		}
		c.Process.Kill()
		for err = unix.EINTR; err == unix.EINTR; {
			var n int
			if n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10000); n == 0 {
				t.Fatal("it still waits")
			}
		}
		unix.Close(fd)
		c.Wait()
		l.join(1, oursPath, "f", "true")
	}
}

// Where there are too few descriptors for events it works all the same, and says nothing.
func TestWaitingWithFewDescriptors(t *testing.T) {
	for limit := 7; limit < 16; limit++ {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			l := newLine(t, t.TempDir())
			w := l.join(6, "sh", "-c", fmt.Sprintf("ulimit -n %d; exec flock f true", limit))
			l.in.Close()
			l.finish(append(w, l.holder)...)
			for _, c := range w {
				if said := fmt.Sprint(c.Stdout); said != "" {
					t.Errorf("said %q", said)
				}
			}
		})
	}
}

// Many readers of a free lock do not wait for each other, nor do they when a writer lets them in.
func TestManyReaders(t *testing.T) {
	const readers = 40
	inside := func(l *line) []*exec.Cmd {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		defer r.Close()
		var cs []*exec.Cmd
		for i := range readers {
			c := l.command(oursPath, "-s", "f", "sh", "-c", fmt.Sprintf(": >in.%d; exec cat", i))
			c.Stdin = r
			l.start(c)
			cs = append(cs, c)
		}
		if l.in != nil {
			l.await("all waiters", func() bool { return len(l.names("wait,")) == readers })
			l.in.Close()
		}
		l.await("all readers", func() bool {
			names, _ := filepath.Glob(filepath.Join(l.dir, "in.*"))
			return len(names) == readers
		})
		return cs
	}
	t.Run("free", func(t *testing.T) {
		needDirectoryLock(t)
		l := &line{t: t, dir: t.TempDir()}
		l.finish(inside(l)...)
	})
	t.Run("after a writer", func(t *testing.T) {
		l := newLine(t, t.TempDir())
		l.finish(append(inside(l), l.holder)...)
	})
}

// Exclusion owes nothing to events.
func TestTortureWithEventsLost(t *testing.T) {
	needDirectoryLock(t)
	deaf := filepath.Join(t.TempDir(), "flock")
	build := exec.Command("go", "build", "-tags", "flock_linkname flock_lose_events", "-ldflags", "-checklinkname=0", "-o", deaf, ".")
	build.Dir = ".."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("cannot build: %v\n%s", err, out)
	}
	defer func(path string) { oursPath = path }(oursPath)
	oursPath = deaf
	torture(t, "directory", 4*time.Second)
}
