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

// Waiting for the directory lock. The limits allow for a busy machine.

// A waitQueue is a holder of the directory lock f, and flock commands that wait for the lock.
type waitQueue struct {
	t      *testing.T
	dir    string
	holder *exec.Cmd
	in     *os.File // the holder ends when this is closed
}

func newWaitQueue(t *testing.T, dir string, holder ...string) *waitQueue {
	needDirectoryLock(t)
	q := &waitQueue{t: t, dir: dir}
	if holder == nil {
		holder = []string{oursPath, "f", "cat"}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	q.in, q.holder = w, q.command(holder...)
	q.holder.Stdin = r
	q.start(q.holder)
	r.Close()
	t.Cleanup(func() { w.Close() })
	// A flock with a descriptor is gone when it has the lock, and its own name as a waiter with it.
	q.await("a holder", func() bool {
		return len(q.names("excl,"))+len(q.names("shared,")) > 0 && len(q.names("wait,")) == 0
	})
	return q
}

func (q *waitQueue) command(words ...string) *exec.Cmd {
	c := exec.Command(words[0], words[1:]...)
	c.Dir = q.dir
	c.Env = withOurs("FLOCK_BACKEND=directory")
	c.Stdout = new(bytes.Buffer)
	c.Stderr = c.Stdout
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

// start starts a command. At the end of the test its process group is killed.
func (q *waitQueue) start(c *exec.Cmd) {
	q.t.Helper()
	if err := c.Start(); err != nil {
		q.t.Fatal(err)
	}
	q.t.Cleanup(func() { unix.Kill(-c.Process.Pid, unix.SIGKILL) })
}

// addWaiters starts n more waiters, each after the one before it has joined the queue.
func (q *waitQueue) addWaiters(n int, words ...string) (cs []*exec.Cmd) {
	q.t.Helper()
	for range n {
		before := len(q.names("wait,"))
		c := q.command(words...)
		q.start(c)
		q.await("a waiter", func() bool { return len(q.names("wait,")) > before })
		cs = append(cs, c)
	}
	return cs
}

func (q *waitQueue) names(prefix string) (names []string) {
	entries, _ := os.ReadDir(filepath.Join(q.dir, ".f.flock"))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	return names
}

func (q *waitQueue) await(what string, f func() bool) {
	q.t.Helper()
	for end := time.Now().Add(tortureBound); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			q.t.Fatal("still not there: ", what)
		}
	}
}

// stop stops waiters, and returns when they are stopped: until then, they could still take the lock.
func (q *waitQueue) stop(cs ...*exec.Cmd) {
	q.t.Helper()
	for _, c := range cs {
		unix.Kill(-c.Process.Pid, unix.SIGSTOP)
		if _, err := unix.Wait4(c.Process.Pid, nil, unix.WUNTRACED, nil); err != nil {
			q.t.Fatal(err)
		}
	}
}

func (q *waitQueue) resume(cs ...*exec.Cmd) {
	for _, c := range cs {
		unix.Kill(-c.Process.Pid, unix.SIGCONT)
	}
}

// finish waits for commands, which must succeed, and returns how long that took.
func (q *waitQueue) finish(cs ...*exec.Cmd) time.Duration {
	q.t.Helper()
	started := time.Now()
	for _, c := range cs {
		late := time.AfterFunc(tortureBound, func() { c.Process.Kill() })
		if err := c.Wait(); err != nil {
			q.t.Errorf("%q: %v %s", c.Args, err, c.Stdout)
		}
		late.Stop()
	}
	return time.Since(started)
}

// atOnce asserts that what try measures takes two seconds at most. A busy machine may make it slower, but not each
// time.
func atOnce(t *testing.T, what string, try func() time.Duration) time.Duration {
	t.Helper()
	for n := 1; ; n++ {
		took := try()
		if took <= 2*time.Second || t.Failed() {
			return took
		}
		t.Logf("%s %v after the holder was gone", what, took)
		if n == 8 {
			t.Fatal("it is late each time")
		}
	}
}

func TestWaitingCostsNothing(t *testing.T) {
	t.Parallel()
	skipInCheck(t)
	for _, c := range []struct {
		name           string
		holder, waiter []string
		perSecond      float64
		others         int // waiters that came before
		areStopped     bool
	}{
		{"waiter", nil, []string{"sh", "-c", "flock f true"}, 1, 0, false},
		{"waiter behind stopped ones", nil, []string{"sh", "-c", "flock f true"}, 1, 4, true},
		{"waiter for a descriptor", []string{"sh", "-c", "exec 9>f; flock 9; read line; :"},
			[]string{"sh", "-c", "exec 9>f; flock 9"}, 5, 0, false},
		{"waiter with a limit", nil, []string{"sh", "-c", "flock -w 1000 f true"}, 1, 0, false},
		{"waiters for a shared descriptor under another number",
			[]string{"sh", "-c", "exec 9>f; flock -s 9; { read line; } 9>other; :"},
			[]string{"sh", "-c", "flock f true"}, 1, 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			q := newWaitQueue(t, t.TempDir(), c.holder...)
			others := q.addWaiters(c.others, oursPath, "f", "true")
			if c.areStopped {
				q.stop(others...)
			}
			w := q.addWaiters(1, c.waiter...)[0]
			const seconds = 5
			isQuiet, wakes := false, []int{}     // of the waiter and of the holder
			for n := 0; n < 4 && !isQuiet; n++ { // shortly after the start there are more
				wakes = countWakeUps(t, seconds, w.Process.Pid, q.holder.Process.Pid)
				isQuiet = wakes[0] > 0 && float64(wakes[0]) <= c.perSecond*seconds && wakes[1] <= 1
			}
			if !isQuiet {
				t.Errorf("in %d seconds the waiter wakes %d times, the holder %d times", seconds, wakes[0], wakes[1])
			}
			q.in.Close()
			q.finish(q.holder, w)
			q.resume(others...)
			q.finish(others...)
		})
	}
}

// closing is a holder that gives the lock up by closing its descriptor, and lives on until the lock has come round.
var closing = []string{"sh", "-c", "exec 9>f; flock 9; read line; exec 9>&-; flock f true"}

// TestOldestWaiterStopped asserts that waiters that are stopped do not keep the others from the lock: the first one
// that runs gets it at once.
func TestOldestWaiterStopped(t *testing.T) {
	for _, c := range []struct {
		stopped int
		late    bool // they are stopped when it has come
	}{{1, false}, {3, false}, {7, true}} {
		for name, holder := range map[string][]string{"ends": nil, "closes": closing} {
			t.Run(fmt.Sprintf("%d, late %v, holder %s", c.stopped, c.late, name), func(t *testing.T) {
				t.Parallel()
				took := atOnce(t, "the first waiter that runs got the lock", func() time.Duration {
					q := newWaitQueue(t, t.TempDir(), holder...)
					oldest := q.addWaiters(c.stopped, oursPath, "f", "true")
					if !c.late {
						q.stop(oldest...)
					}
					first := q.addWaiters(1, oursPath, "f", "true")
					others := q.addWaiters(3, oursPath, "f", "true")
					if c.late {
						q.stop(oldest...)
					}
					q.in.Close()
					took := q.finish(first...)
					q.finish(append(others, q.holder)...)
					q.resume(oldest...)
					q.finish(oldest...)
					if names := q.names(""); len(names) != 1 || names[0] != "free" {
						t.Errorf("left: %q", names)
					}
					return took
				})
				t.Logf("it had the lock after %v", took)
			})
		}
	}
}

// TestOldestWaiterKilled asserts the same of waiters that are killed.
func TestOldestWaiterKilled(t *testing.T) {
	q := newWaitQueue(t, t.TempDir())
	oldest := q.addWaiters(6, oursPath, "f", "true")
	others := q.addWaiters(3, oursPath, "f", "true")
	for _, c := range oldest {
		unix.Kill(-c.Process.Pid, unix.SIGKILL)
		c.Wait()
	}
	q.in.Close()
	t.Logf("the others ended after %v", q.finish(append(others, q.holder)...))
	if names := q.names(""); len(names) != 1 || names[0] != "free" {
		t.Errorf("left: %q", names)
	}
}

// TestWaitingWithFewDescriptors asserts that waiting works, without a message, where descriptors for events are
// missing.
func TestWaitingWithFewDescriptors(t *testing.T) {
	for limit := 8; limit < 16; limit++ {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			q := newWaitQueue(t, t.TempDir())
			w := q.addWaiters(6, "sh", "-c", fmt.Sprintf("ulimit -n %d; exec flock f true", limit))
			q.in.Close()
			q.finish(append(w, q.holder)...)
			for _, c := range w {
				if output := fmt.Sprint(c.Stdout); output != "" {
					t.Errorf("output %q", output)
				}
			}
		})
	}
}

// TestReadersTogether asserts that all who want a shared lock have it at once when it is free for them: at first, or
// when the one who has it exclusively gives it up in some way.
func TestReadersTogether(t *testing.T) {
	for _, c := range []struct {
		readers int
		release string // "": nobody has the lock
	}{{40, ""}, {40, "exit 0"}, {12, "flock -u 9"}, {12, "flock -s 9"}, {12, "exec 9>&-"}} {
		t.Run(c.release, func(t *testing.T) {
			needDirectoryLock(t)
			try := func() time.Duration {
				q := &waitQueue{t: t, dir: t.TempDir()}
				if c.release != "" {
					q = newWaitQueue(t, q.dir, "sh", "-c", "exec 9>f; flock 9; read line; "+c.release+
						"; until [ -e over ]; do sleep .05; done")
				}
				in, hold, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				defer in.Close()
				defer hold.Close()
				var readers []*exec.Cmd
				for range c.readers {
					r := q.command(oursPath, "-s", "f", "sh", "-c", "echo >>in; read line; :")
					r.Stdin = in
					q.start(r)
					readers = append(readers, r)
				}
				began := time.Now()
				if q.holder != nil {
					q.await("all waiters", func() bool { return len(q.names("wait,")) == c.readers })
					began = time.Now()
					q.in.Close()
				}
				q.await("all readers", func() bool {
					text, _ := os.ReadFile(filepath.Join(q.dir, "in"))
					return len(text) == c.readers
				})
				took := time.Since(began)
				hold.Close()
				if q.finish(readers...); q.holder != nil {
					os.WriteFile(filepath.Join(q.dir, "over"), nil, 0o666)
					q.finish(q.holder)
				}
				return took
			}
			if c.readers > 12 { // a busy machine takes its time to start so many
				try()
			} else {
				t.Logf("after %v", atOnce(t, "all readers were in", try))
			}
		})
	}
}
