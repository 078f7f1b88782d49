//go:build linux

package compat_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Those who wait for another mode do not keep a waiter from what is free for it, even if nobody says that it is: here
// two holders of permits keep writers out, and one of them is killed.
func TestPermitFreeBehindWriters(t *testing.T) {
	needDirectoryLock(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	q := &waitQueue{t: t, dir: t.TempDir()}
	permit := func(words ...string) []string {
		return append([]string{oursPath, "--no-fork", "--permits", "2", "f"}, words...)
	}
	holder := func() *process {
		c := q.command(permit("cat")...)
		c.Stdin = r
		before := len(q.names("permit,"))
		q.start(c)
		q.await("a holder", func() bool { return len(q.names("permit,")) > before })
		return &process{pid: c.Process.Pid}
	}
	first := holder()
	holder()
	q.addWaiters(7, oursPath, "f", "true")
	last := q.addWaiters(1, permit("true")...)
	waitUntilAsleep(q, last)
	unix.Kill(first.pid, unix.SIGKILL)
	if took := q.finish(last...); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Whoever may search the state directory can ask a waiter whose umask is stricter, and wake it.
func TestWaiterLetsOthersWake(t *testing.T) {
	q := newWaitQueue(t, t.TempDir())
	w := q.addWaiters(1, "sh", "-c", "umask 077; exec flock f true")
	info, err := os.Lstat(filepath.Join(q.dir, ".f.flock", q.names("wait,")[0]))
	if err != nil || info.Mode().Perm() != 0o666 || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	q.in.Close()
	q.finish(append(w, q.holder)...)
}

// A waiter in another pid namespace keeps its place: nobody can ask whether it lives, but it has its FIFO open.
func TestWaiterOfOtherNamespaceStays(t *testing.T) {
	if !needChecks["pidns"]() {
		t.Skip("cannot make a pid namespace")
	}
	q := newWaitQueue(t, t.TempDir())
	w := q.addWaiters(1, "unshare", "-pf", "--mount-proc", oursPath, "f", "true")
	entry := q.names("wait,")
	for range 3 {
		q.command(oursPath, "-w", "0.1", "f", "true").Run() // who gives up looks who else has gone
	}
	came := func(name string) string { return name[strings.LastIndexByte(name, ','):] }
	if now := q.names("wait,"); len(now) != 1 || came(now[0]) != came(entry[0]) {
		t.Errorf("%q waited, now %q", entry, now)
	}
	q.in.Close()
	q.finish(append(w, q.holder)...)
}

// With the mount option hidepid of /proc the owner's end is seen all the same, before its parent waits for it.
func TestConcealedZombieIsDead(t *testing.T) {
	needDirectoryLock(t)
	const script = `mount -t proc -o hidepid=2 proc /proc &&
		exec setpriv --reuid=65534 --regid=65534 --clear-groups ./flock -w 30 f echo in`
	if !needChecks["root"]() || !needChecks["mount"]() || !succeeds("setpriv", "--reuid=65534", "true") {
		t.Skip("cannot mount and change the user")
	}
	dir, err := os.MkdirTemp("/tmp", "flock-hidepid") // the way to t.TempDir is not for other users
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	q := &waitQueue{t: t, dir: dir}
	if err := os.Chmod(dir, 0777); err != nil {
		t.Fatal(err)
	}
	// nor is, perhaps, the way to the program
	if err := copyProgram(oursPath, filepath.Join(dir, "flock")); err != nil {
		t.Fatal(err)
	}
	c := q.command("sh", "-c", "umask 0; : >f; exec flock -F f cat")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	q.start(c)
	q.await("a holder", func() bool { return len(q.names("excl,")) > 0 })
	in.Close()
	q.await("its end", func() bool {
		return isInState(c.Process.Pid, "Z")
	})
	w := q.command("unshare", "-m", "sh", "-c", script)
	q.start(w)
	if q.finish(w); w.Stdout.(*bytes.Buffer).String() != "in\n" {
		t.Errorf("said %q", w.Stdout)
	}
	c.Wait()
}

// waitUntilAsleep waits until the processes sleep in a system call for some looks in a row, as they do when they wait.
func waitUntilAsleep(q *waitQueue, cs []*exec.Cmd) {
	asleep := 0
	q.await("sleep", func() bool {
		asleep++
		for _, c := range cs {
			if !isInState(c.Process.Pid, "S") {
				asleep = 0
			}
		}
		return asleep == 10
	})
}
