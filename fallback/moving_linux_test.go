package fallback

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	roles["lock a number"] = lockNumber
	roles["adopt"] = adopt
}

// lockNumber is flock with the number of a descriptor.
func lockNumber(dir string, n int) {
	l, err := OpenFile(dir, filepath.Join(filepath.Dir(dir), "f"), n)
	must(err)
	must(l.Lock(context.Background()))
}

// TestShellThatMovesItsDescriptor: a shell that runs a function with 9>&- has the open file under another number
// meanwhile. It never sleeps, and its descriptor is under a number between two looks at it only for a moment. Nobody
// gets in.
func TestShellThatMovesItsDescriptor(t *testing.T) {
	for what, script := range map[string]string{
		"the shell that has locked": `log() { :; }; while [ ! -e stop ]; do log message 9>&-; done`,
		"its child":                 `log() { :; }; (while [ ! -e stop ]; do log message 9>&-; done) & : >ended`,
	} {
		for _, shell := range []string{"bash", "dash", "zsh", "busybox"} {
			t.Run(what+"/"+shell, func(t *testing.T) {
				path, err := exec.LookPath(shell)
				if err != nil {
					t.Skip(shell + " is not installed")
				}
				words := []string{path, "-c", "exec 9>>f; $SELF; : >locked; " + script}
				if shell == "busybox" {
					words = append([]string{path, "sh"}, words[1:]...)
				}
				notAdmitted(t, words)
			})
		}
	}
}

// TestPassedOn: processes hand the open file on, each to a child that outlives it, and live for a millisecond. Who
// looks for it comes too late to most of them, and who has adopted them passes for their parent. Nobody gets in.
func TestPassedOn(t *testing.T) {
	const script = `echo 'if [ ! -e stop ]; then sh next & fi' >next; exec 9>>f; $SELF; : >locked; exec sh next`
	t.Run("adopted by process 1", func(t *testing.T) {
		notAdmitted(t, []string{"/bin/sh", "-c", script})
	})
	t.Run("adopted by an ancestor", func(t *testing.T) {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0); err != nil { // under qemu-user
			t.Skip("only process 1 can adopt here: ", err)
		}
		t.Setenv("SCRIPT", script)
		notAdmitted(t, []string{"/bin/sh", "-c", `FALLBACK_ROLE=adopt exec $SELF`})
	})
}

// adopt runs SCRIPT, and is the parent of its orphans.
func adopt(dir string, n int) {
	must(unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	c := exec.Command("/bin/sh", "-c", os.Getenv("SCRIPT"))
	c.Env = append(os.Environ(), "FALLBACK_ROLE=lock a number")
	c.Stderr = os.Stderr
	must(c.Start())
	for {
		if _, err := unix.Wait4(-1, nil, 0, nil); err != nil && err != unix.EINTR {
			return // ECHILD: none is left
		}
	}
}

// notAdmitted starts a shell that locks and moves its descriptor, or hands it on, and tries to get in.
func notAdmitted(t *testing.T, words []string) {
	tries := 2000
	switch {
	case tortureDuration(t) > 0:
		tries = 100_000
	case testing.Short():
		tries = 200
	}
	dir := lockFile(t)
	around := filepath.Dir(dir)
	c := &exec.Cmd{Path: words[0], Args: words, Dir: around, Stderr: os.Stderr}
	self, err := os.Executable()
	must(err)
	c.Env = append(os.Environ(), "SELF="+self, "FALLBACK_ROLE=lock a number", "FALLBACK_PLACE="+dir, "FALLBACK_N=9")
	must(c.Start())
	over := make(chan struct{})
	go func() {
		c.Wait()
		close(over)
	}()
	defer func() {
		must(os.WriteFile(filepath.Join(around, "stop"), nil, 0o666))
		<-over
		awaitFree(t, newLock(dir))
	}()
	isReady := func() bool {
		return exists(filepath.Join(around, "locked")) &&
			(!strings.Contains(words[len(words)-1], "ended") || exists(filepath.Join(around, "ended")))
	}
	for !isReady() {
		select {
		case <-over: // as it may be, when another process goes on
			if !isReady() {
				t.Fatal("it has not locked: ", c.ProcessState)
			}
		case <-time.After(time.Millisecond):
		}
	}
	moved := 0
	for n := range tries {
		l := newLock(dir)
		err := l.TryLock()
		if err == nil {
			l.Unlock()
			hasReader := "it lives on"
			select {
			case <-over:
				hasReader = "it has ended: " + c.ProcessState.String()
			case <-time.After(time.Second):
			}
			t.Fatalf("in after %d tries, %d times it had moved; %s", n, moved, hasReader)
		}
		if !isLocked(err) {
			t.Fatal(err)
		}
		if !strings.Contains(err.(*LockedError).Holders[0].Path, ".9.") {
			moved++
		}
	}
	t.Logf("%d tries, %d times it had moved", tries, moved)
}

// awaitFree waits until the lock is free: the shell's child may end later than the shell, and while process 1 adopts
// others without a pause, no search can tell.
func awaitFree(t *testing.T, l *Lock) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := l.Lock(ctx); err != nil {
		t.Error(err)
	}
	l.Unlock()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestFileByTwoMounts: an open file counts also where the path leads to another device, as on a filesystem that was
// unmounted while the file was in use, and mounted again. /proc and /sys have one inode number, and stand for that.
func TestFileByTwoMounts(t *testing.T) {
	dir := filepath.Join(tempDir(t), "state") // as with FLOCK_DIR
	open := func(path string) (int, *Lock, unix.Stat_t) {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		must(err)
		var of unix.Stat_t
		must(unix.Fstat(fd, &of))
		l, err := OpenFile(dir, path, fd)
		must(err)
		return fd, l, of
	}
	fd, holder, its := open("/proc")
	other, l, of := open("/sys")
	defer unix.Close(other)
	if its.Ino != of.Ino || its.Dev == of.Dev {
		unix.Close(fd)
		t.Skip("these are not two devices with one inode number")
	}
	must(holder.TryLock())
	if err := l.TryLock(); !isLocked(err) {
		t.Error("it is not where the record says: ", err)
	}
	moved, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	must(err)
	unix.Close(fd)
	if err := l.TryLock(); !isLocked(err) {
		t.Error("a search has not found it: ", err)
	}
	unix.Close(moved)
	awaitFree(t, l) // who lists /proc meanwhile opens it as an ordinary user's holder does
}

// TestComputesForHours: a shell that has closed its descriptor and never sleeps does not keep the lock.
func TestComputesForHours(t *testing.T) {
	dir := lockFile(t)
	around := filepath.Dir(dir)
	self, err := os.Executable()
	must(err)
	c := exec.Command("sh", "-c", "exec 9>>f; $SELF; exec 9>&-; : >closed; while [ ! -e stop ]; do :; done")
	c.Dir = around
	c.Env = append(os.Environ(), "SELF="+self, "FALLBACK_ROLE=lock a number", "FALLBACK_PLACE="+dir,
		"FALLBACK_N="+strconv.Itoa(9))
	must(c.Start())
	defer c.Wait()
	defer os.WriteFile(filepath.Join(around, "stop"), nil, 0o666)
	for !exists(filepath.Join(around, "closed")) {
		time.Sleep(time.Millisecond)
	}
	start := time.Now()
	if err := newLock(dir).TryLock(); err != nil {
		t.Error(err)
	}
	t.Log("in after", time.Since(start))
	if unix.Kill(c.Process.Pid, 0) != nil {
		t.Error("the shell has ended")
	}
}
