//go:build linux

package compat_test

import (
	"io/fs"
	"os"
	"path/filepath"
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
