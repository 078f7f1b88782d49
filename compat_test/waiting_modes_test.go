//go:build linux

package compat_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Those who wait for another mode do not keep a waiter from what is free for it, even if nobody says that it is: here two
// holders of permits keep writers out, and one of them is killed.
func TestPermitFreeBehindWriters(t *testing.T) {
	needDirectoryLock(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	l := &line{t: t, dir: t.TempDir()}
	permit := func(words ...string) []string {
		return append([]string{oursPath, "--no-fork", "--permits", "2", "f"}, words...)
	}
	holder := func() *process {
		c := l.command(permit("cat")...)
		c.Stdin = r
		before := len(l.names("permit,"))
		l.start(c)
		l.await("a holder", func() bool { return len(l.names("permit,")) > before })
		return &process{pid: c.Process.Pid}
	}
	first := holder()
	holder()
	l.join(20, oursPath, "f", "true")
	last := l.join(1, permit("true")...)
	time.Sleep(200 * time.Millisecond) // until it sleeps; without that the test can only succeed
	unix.Kill(first.pid, unix.SIGKILL)
	if took := l.finish(last...); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Whoever may write in the state directory may release the lock, and must be able to wake a waiter whose umask is stricter.
func TestWaiterLetsOthersRing(t *testing.T) {
	for _, mode := range []fs.FileMode{0755, 0775, 0777} {
		t.Run(mode.String(), func(t *testing.T) {
			l := newLine(t, t.TempDir())
			dir := filepath.Join(l.dir, ".f.flock")
			if err := os.Chmod(dir, mode); err != nil {
				t.Fatal(err)
			}
			w := l.join(1, "sh", "-c", "umask 077; exec flock f true")
			l.await("a FIFO that the writers of the directory may write to", func() bool {
				info, err := os.Lstat(filepath.Join(dir, l.names("wait,")[0]))
				return err == nil && info.Mode()&0022 == mode&0022
			})
			l.in.Close()
			l.finish(append(w, l.holder)...)
		})
	}
}

// A waiter in another pid namespace keeps its place: nobody can ask whether it lives, but it has its FIFO open.
func TestWaiterOfOtherNamespaceStays(t *testing.T) {
	if !needChecks["pidns"]() {
		t.Skip("cannot make a pid namespace")
	}
	l := newLine(t, t.TempDir())
	w := l.join(1, "unshare", "-pf", "--mount-proc", oursPath, "f", "true")
	entry := l.names("wait,")
	for range 3 {
		l.command(oursPath, "-w", "0.1", "f", "true").Run() // who gives up looks who else has gone
	}
	if now := l.names("wait,"); len(now) != 1 || now[0] != entry[0] {
		t.Errorf("%q waited, now %q", entry, now)
	}
	l.in.Close()
	l.finish(append(w, l.holder)...)
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
	l := &line{t: t, dir: dir}
	if err := os.Chmod(dir, 0777); err != nil {
		t.Fatal(err)
	}
	// nor is, perhaps, the way to the program
	if out, err := exec.Command("install", "-m", "755", oursPath, filepath.Join(dir, "flock")).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	c := l.command("sh", "-c", "umask 0; : >f; exec flock -F f cat")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	l.start(c)
	l.await("a holder", func() bool { return len(l.names("excl,")) > 0 })
	in.Close()
	l.await("its end", func() bool {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(c.Process.Pid) + "/stat")
		return bytes.Contains(text, []byte(") Z "))
	})
	w := l.command("unshare", "-m", "sh", "-c", script)
	l.start(w)
	if l.finish(w); w.Stdout.(*bytes.Buffer).String() != "in\n" {
		t.Errorf("said %q", w.Stdout)
	}
	c.Wait()
}
