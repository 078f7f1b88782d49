package compat_test

import (
	"context"
	"errors"
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

const (
	strangerID = 65534 // who owns the lock file
	otherID    = 65533
)

// A stickyDir is a directory like /tmp, in a kernel that refuses O_CREAT there for what belongs to somebody else.
type stickyDir struct {
	t    *testing.T
	path string
}

// newStickyDir sets fs.protected_regular and fs.protected_fifos until the test is over.
func newStickyDir(t *testing.T) stickyDir {
	needOurs(t)
	d := makeStickyDir(t)
	for _, name := range []string{"regular", "fifos"} {
		path := "/proc/sys/fs/protected_" + name
		old, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte("1"), 0)
		}
		if err != nil {
			t.Skipf("fs.protected_%s cannot be set here: %v", name, err)
		}
		t.Cleanup(func() {
			if err := os.WriteFile(path, old, 0); err != nil {
				t.Error(err)
			}
		})
	}
	return d
}

// makeStickyDir makes the directory, for several users.
func makeStickyDir(t *testing.T) stickyDir {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be several users")
	}
	top, err := os.MkdirTemp(workDir, "sticky-")
	d := stickyDir{t, filepath.Join(top, "d")}
	d.must(err)
	d.must(os.Chmod(top, 0o755))
	d.must(os.Mkdir(d.path, 0o777))
	d.must(os.Chmod(d.path, 0o777|os.ModeSticky))
	return d
}

func (d stickyDir) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// add makes what the stranger has in the directory.
func (d stickyDir) add(name string, mode uint32) {
	d.t.Helper()
	path := filepath.Join(d.path, name)
	d.must(unix.Mknod(path, mode, int(unix.Mkdev(1, 3)))) // the device is /dev/null
	d.must(os.Chmod(path, os.FileMode(mode&0o777)))
	d.must(os.Chown(path, strangerID, strangerID))
}

// run returns what a user's program says and its exit status, or "hung".
func (d stickyDir) run(user int, program string, args ...string) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, program, args...)
	c.Args[0], c.Dir, c.WaitDelay = "flock", d.path, time.Second
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}}
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "hung"
	case err != nil && !errors.As(err, &exit):
		d.t.Fatal(err)
	}
	return strings.TrimSuffix(fmt.Sprintf("%s%d", out, c.ProcessState.ExitCode()), "\n")
}

func (d stickyDir) expect(want string, user int, program string, args ...string) {
	d.t.Helper()
	if got := d.run(user, program, args...); got != want {
		d.t.Errorf("%s %q as user %d:\n%s\nwant:\n%s", filepath.Base(program), args, user, got, want)
	}
}

// TestProtectedRegular locks a file of somebody else in a sticky directory, which util-linux cannot open.
func TestProtectedRegular(t *testing.T) {
	d := newStickyDir(t)
	const in = "in\n0"
	denied := func(name string) string { return "flock: cannot open lock file " + name + ": Permission denied\n66" }

	d.add("f666", unix.S_IFREG|0o666)
	d.add("f644", unix.S_IFREG|0o644)
	d.add("f600", unix.S_IFREG|0o600)
	d.add("fifo", unix.S_IFIFO|0o666)
	d.must(os.Symlink("f666", filepath.Join(d.path, "link")))
	d.must(os.Lchown(filepath.Join(d.path, "link"), strangerID, strangerID))
	if referencePath != "" {
		d.expect(denied("f666"), 0, referencePath, "f666", "echo", "in")
	}
	for _, user := range []int{0, otherID} {
		d.expect(in, user, oursPath, "f666", "echo", "in")
		d.expect(in, user, oursPath, "f644", "echo", "in")
		d.expect(in, user, oursPath, "-s", "--fcntl", "f644", "echo", "in")
		// The second and the third need the file open for writing.
		for _, option := range []string{"-x", "--permits=2", "--fcntl"} {
			d.expect(in, user, oursPath, option, "f666", "echo", "in")
			d.expect(denied("fifo"), user, oursPath, option, "fifo", "echo", "in")
			d.expect(denied("link"), user, oursPath, option, "link", "echo", "in")
		}
	}
	d.expect(in, 0, oursPath, "f600", "echo", "in") // who may read everything
	d.expect(denied("f600"), otherID, oursPath, "f600", "echo", "in")
	d.expect(in, strangerID, oursPath, "f600", "echo", "in")
	for _, option := range []string{"--permits=2", "--fcntl"} {
		d.expect(in, 0, oursPath, option, "f600", "echo", "in")
		d.expect(denied("f644"), otherID, oursPath, option, "f644", "echo", "in")
	}

	// It is the same lock as the owner's, and its descriptor is as any other.
	for _, users := range [][2]int{{strangerID, 0}, {0, strangerID}, {otherID, 0}} {
		hold := exec.Command(oursPath, "f644", "sh", "-c", "echo; read line")
		hold.Dir, hold.SysProcAttr = d.path,
			&syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(users[0])}}
		stdin, err := hold.StdinPipe()
		d.must(err)
		stdout, err := hold.StdoutPipe()
		d.must(err)
		d.must(hold.Start())
		stdout.Read(make([]byte, 1))
		d.expect("1", users[1], oursPath, "-n", "f644", "echo", "in")
		stdin.Close()
		hold.Wait()
	}
	d.expect(in, otherID, oursPath, "f644", "sh", "-c",
		`[ /proc/self/fd/3 -ef f644 ] && [ ! -e /proc/self/fd/4 ] && echo in`)
	d.expect("0100000\n0", otherID, oursPath, "f644", "sed", "-n", `s/^flags:\t//p`, "/proc/self/fdinfo/3")
}

// TestProtectedRegularAndDevices has a device of somebody else there.
func TestProtectedRegularAndDevices(t *testing.T) {
	d := newStickyDir(t)
	path := filepath.Join(d.path, "null")
	if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
		t.Skip("devices cannot be made here: ", err)
	}
	d.must(os.Remove(path))
	d.add("null", unix.S_IFCHR|0o666)
	for _, user := range []int{0, otherID} {
		d.expect("flock: cannot open lock file null: Permission denied\n66", user, oursPath, "null", "echo", "in")
	}
}

// TestProtectedRegularReplaced has the owner put a fifo in the place of the file, and the file back, all the time.
func TestProtectedRegularReplaced(t *testing.T) {
	skipInCheck(t)
	d := newStickyDir(t)
	d.add("f", unix.S_IFREG|0o666)
	d.add("fifo", unix.S_IFIFO|0o666)
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		file, fifo := filepath.Join(d.path, "f"), filepath.Join(d.path, "fifo")
		for {
			select {
			case <-stop:
				return
			default:
				unix.Renameat2(unix.AT_FDCWD, file, unix.AT_FDCWD, fifo, unix.RENAME_EXCHANGE)
			}
		}
	}()
	answers := map[string]int{}
	times := 40
	if isLong {
		times = 200
	}
	for range times {
		answer := d.run(0, oursPath, "f", "echo", "in")
		answers[answer]++
		if answer != "in\n0" && answer != "flock: cannot open lock file f: Permission denied\n66" {
			t.Error(answer)
			break
		}
	}
	close(stop)
	<-stopped
	t.Log(answers)
}
