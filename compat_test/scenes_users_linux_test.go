package compat_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLockOfAnExtraFile locks a file that has one descriptor number in this process and another one in flock: exec.Cmd
// numbers ExtraFiles from 3.
func TestLockOfAnExtraFile(t *testing.T) {
	needDirectoryLock(t)
	path := filepath.Join(t.TempDir(), "f")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	flock := func(extra []*os.File, args ...string) int {
		c := exec.Command(oursPath, args...)
		c.Env = append(os.Environ(), "FLOCK_BACKEND=directory")
		c.ExtraFiles, c.Stderr = extra, os.Stderr
		c.Run()
		return c.ProcessState.ExitCode()
	}
	expect := func(what string, want, got int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: exit status %d, not %d", what, got, want)
		}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	expect("lock", 0, flock([]*os.File{null, f}, "-n", "4"))
	expect("another one", 1, flock(nil, "-n", path, "true"))
	expect("again, as another number", 0, flock([]*os.File{f}, "-n", "3"))
	expect("unlock", 0, flock([]*os.File{null, null, f}, "-u", "5"))
	expect("another one, after the unlock", 0, flock(nil, "-n", path, "true"))
	expect("lock again", 0, flock([]*os.File{f}, "-n", "3"))
	expect("another one", 1, flock(nil, "-n", path, "true"))
	f.Close()
	expect("another one, after the close", 0, flock(nil, "-n", path, "true"))
}

// TestRootsLock has root's subshell hold a lock whose taker and whose script have ended. Another user, who may not look
// into root's processes, neither gets it nor takes it from root, and gets it when the subshell has ended.
func TestRootsLock(t *testing.T) {
	needDirectoryLock(t)
	d := makeStickyDir(t)
	t.Setenv("FLOCK_BACKEND", "directory")
	const script = `umask 0; exec 3<&0 9>lock
		( until grep -q '^State:.Z' /proc/$$/status; do sleep .01; done
		timeout 5 "$0" 9 || exit; echo in; read line <&3 ) & exit`
	root := exec.Command("sh", "-c", script, oursPath)
	root.Dir, root.Stderr = d.path, os.Stderr
	in, err := root.StdinPipe()
	d.must(err)
	defer in.Close()
	out, err := root.StdoutPipe()
	d.must(err)
	d.must(root.Start())
	said := bufio.NewReader(out)
	line, err := said.ReadString('\n')
	d.must(err)
	if line != "in\n" {
		t.Fatal(line)
	}
	_, err = root.Process.Wait()
	d.must(err)
	for _, user := range []int{otherID, 0, otherID} {
		d.expect("1", user, oursPath, "-n", "lock", "true")
	}
	in.Close()
	said.ReadString('\n') // until the subshell has ended
	// Another user cannot know that: processes of root that were started later may not be looked into.
	d.expect("0", 0, oursPath, "-w", "15", "lock", "true")
	d.expect("0", otherID, oursPath, "-w", "15", "lock", "true")
}

// TestMarkChangesMeanwhile lets others lock and unlock the same open file while a flock looks at its flags. None waits
// for its own open file, none keeps a lock of its own, and none is refused.
func TestMarkChangesMeanwhile(t *testing.T) {
	skipInCheck(t)
	needDirectoryLock(t)
	needStrace(t)
	delay := func(when string, call int, words string) string {
		return fmt.Sprintf("timeout 20 strace -f -o trace -e trace=fcntl -e inject=fcntl:%s=400000:when=%d flock %s",
			when, call, words)
	}
	delayed := func(call int, words string) string { return delay("delay_exit", call, words) }
	step := 3
	if isLong {
		step = 1
	}
	for call := 1; call <= 10; call += step {
		// Each outcome must be the same whenever the others come.
		for name, c := range map[string]struct{ script, want string }{
			"locks": {`exec 9>f; ( ` + delayed(call, "9") +
				`; echo $? ) & sleep .1; flock 9; wait; flock -n f true; echo $?`, "0\n1\n"},
			"again": {`exec 9>f; flock 9; ( ` + delayed(call, "9") + `; echo $? ) & sleep .1; flock -u 9; wait; flock 9
				flock -u 9; flock -n f true; echo $?`, "0\n0\n"},
			"unlocks": {`exec 9>f; flock 9; ( ` + delayed(call, "-u 9") +
				`; echo $? ) & sleep .1; flock -u 9; wait; flock -n f true; echo $?`, "0\n0\n"},
			"tries": {`exec 9>f; flock 9; ( ` + delay("delay_enter", call, "-n 9") +
				`; echo $? ) & sleep .1; flock -u 9; wait`, "0\n"},
		} {
			t.Run(fmt.Sprint(name, " ", call), func(t *testing.T) {
				t.Parallel()
				got := runScript(t, c.script, "FLOCK_BACKEND=directory")
				got = slowTaking.ReplaceAllString(got, "") // on a loaded machine
				if got != c.want {
					t.Errorf("%q, not %q", got, c.want)
				}
			})
		}
	}
}

var slowTaking = regexp.MustCompile(`(?m)^flock: waiting: held by process \d+, which is taking or releasing it\n`)

// TestUnlockUnseen has a process in another user or pid namespace unlock an open file whose record names a process that
// it may not inspect.
func TestUnlockUnseen(t *testing.T) {
	needDirectoryLock(t)
	for _, option := range []string{"-r", "-rpf --mount-proc"} {
		t.Run(option, func(t *testing.T) {
			if !succeeds("unshare", append(strings.Fields(option), "true")...) {
				t.Skip("such namespaces cannot be made here")
			}
			got := runScript(t, `exec 9>f; flock 9; unshare `+option+
				` sh -c 'flock -u 9; echo $?'; flock -n f true; echo $?`,
				"FLOCK_BACKEND=directory")
			if got != "0\n0\n" {
				t.Error(got)
			}
		})
	}
}

// TestForeignFile has a user lock a file of somebody else, whose open file gets another mark, with and without kcmp(2).
func TestForeignFile(t *testing.T) {
	needDirectoryLock(t)
	d := makeStickyDir(t)
	program := filepath.Join(d.path, "compat.test") // a user may not look into the directory of this program
	d.must(copyProgram(selfPath(t), program))
	d.must(os.WriteFile(filepath.Join(d.path, "f"), nil, 0o644))
	t.Setenv("FLOCK_BACKEND", "directory")
	t.Setenv("PATH", filepath.Dir(oursPath)+":"+os.Getenv("PATH"))
	const script = `exec 9<f; flock 9; flock -n 9; echo $?; flock -n -s 9; echo $?; flock -n -x 9; echo $?
		flock -n f true; echo $?; ( flock -n 9; echo $? ); flock -u 9; echo $?; flock -n f true; echo $?
		flock 9; (until [ -e go ]; do sleep .05; done) & exec 9<&-; flock -n f true; echo $?
		: >go; wait; flock -n f true; echo $?; rm go`
	const want = "0\n0\n0\n1\n0\n0\n0\n1\n0\n0"
	d.expect(want, otherID, "/bin/sh", "-c", script)
	if !canForbidKcmp() {
		t.Skip("kcmp(2) cannot be forbidden here")
	}
	d.expect(want, otherID, program, "without-kcmp", "/bin/sh", "-c", script)
}

// TestReaderBesidePermitOfAnother has a reader move its descriptor beside a permit that is over, whose file had another
// mark: that of a user who does not own it. No exclusive lock comes in.
func TestReaderBesidePermitOfAnother(t *testing.T) {
	needDirectoryLock(t)
	d := makeStickyDir(t)
	t.Setenv("FLOCK_BACKEND", "directory")
	d.expect("0", 0, "sh", "-c", `umask 0; : >f; "$0" f true`, oursPath)
	for range 10 {
		for range 3 {
			d.expect("0", otherID, oursPath, "-F", "--permits", "20", "f", "true")
		}
		reader := exec.Command(oursPath, "-s", "-F", "f", "sh", "-c", "exec 8>&3 3>&-; echo in; read line")
		reader.Dir = d.path
		in, err := reader.StdinPipe()
		d.must(err)
		out, err := reader.StdoutPipe()
		d.must(err)
		d.must(reader.Start())
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Error(err)
		}
		d.expect("1", 0, oursPath, "-n", "f", "true")
		in.Close()
		reader.Wait()
	}
}

// TestUnlockBesideConcealed has a user unlock beside a reader that he may not inspect.
func TestUnlockBesideConcealed(t *testing.T) {
	needDirectoryLock(t)
	d := makeStickyDir(t)
	t.Setenv("FLOCK_BACKEND", "directory")
	t.Setenv("PATH", filepath.Dir(oursPath)+":"+os.Getenv("PATH"))
	d.expect("0", 0, "sh", "-c", fmt.Sprintf("umask 0; : >f; chown %d f; flock f true", otherID))
	f, err := os.Open(filepath.Join(d.path, "f"))
	d.must(err)
	defer f.Close()
	reader := exec.Command(oursPath, "-s", "3")
	reader.ExtraFiles = []*os.File{f}
	d.must(reader.Run())
	d.expect("0\n0", otherID, "sh", "-c", "exec 9>>f; flock -s 9; exec 8>&9 9>&-; flock -u 8; echo $?")
	d.expect("0\n0", otherID, "sh", "-c", `exec 9>>f; flock -s 9
		(while kill -0 $$ 2>&-; do sleep .02; done; flock -u 9; echo $?) & exit`)
}

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

// With hidepid=1 anybody sees the processes of others, and nothing of them: who has the lock is named by number.
func TestHolderOfWhomNothingIsSeen(t *testing.T) {
	needOurs(t)
	if !needChecks["root"]() || !needChecks["mount"]() || !succeeds("setpriv", "--reuid=65534", "true") {
		t.Skip("cannot mount and change the user")
	}
	const script = `cd "$(mktemp -d /tmp/flock-hidepid.XXXXXX)"; chmod 755 .; cp "$1" flock; : >f
		./flock -F f sleep 100 & trap 'kill $!; rm -r "$PWD"' EXIT; until ./flock --holders f >out || ! kill -0 $!; do :; done
		unshare -m sh -c 'mount -t proc -o hidepid=1 proc /proc &&
			setpriv --reuid=65534 --regid=65534 --clear-groups ./flock --holders f' | sed "s/^$! /ITS /"`
	out, err := exec.Command("bash", "-c", script, "bash", oursPath).CombinedOutput()
	if err != nil || strings.Join(strings.Fields(string(out)), " ") != "ITS exclusive root - -" {
		t.Errorf("%v %s", err, out)
	}
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
