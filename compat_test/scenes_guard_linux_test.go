package compat_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestGuardUnderXNU runs a command with a limit where nobody may ask for the dispositions of SIGKILL and SIGSTOP.
func TestGuardUnderXNU(t *testing.T) {
	needOurs(t)
	c := exec.Command(selfPath(t), "sigaction-of-KILL-refused", oursPath, "--limit", "60", "f", "echo", "in")
	c.Dir = t.TempDir()
	if out, err := c.CombinedOutput(); err != nil || string(out) != "in\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestGuardMakesNoThread counts the threads of flock and its guard when the command has started and at its end, with many
// signals between: near a limit of processes, to make one would be the end of them. The spare ones are there from the
// start. That the runtime uses one processor does not change that: by itself it would make the fewest threads then.
func TestGuardMakesNoThread(t *testing.T) {
	needOurs(t)
	c := exec.Command(oursPath, "--limit", "60", "f", "sh", "-c",
		`trap : USR1; echo $PPID; until [ -e go ]; do sleep .01; done; exit 0`)
	c.Dir, c.Env = t.TempDir(), append(os.Environ(), "GOMAXPROCS=1")
	out, _ := c.StdoutPipe()
	started, guard := c.Start(), 0
	if _, err := fmt.Fscan(out, &guard); err != nil {
		t.Fatal("the command does not start: ", started, err)
	}
	pids := []int{c.Process.Pid, guard}
	threads := func() (counts [2]int) {
		for i, pid := range pids {
			counts[i], _ = strconv.Atoi(statusLine(pid, "Threads"))
		}
		return counts
	}
	before := threads()
	const least = 5 // main, the runtime's monitor, one that writes lines or waits for children, and two spare ones
	if min(before[0], before[1]) < least {
		t.Errorf("flock and its guard have %d threads, fewer than %d", before, least)
	}
	for n := range 2000 {
		unix.Kill(pids[n%2], unix.SIGUSR1)
	}
	if after := threads(); before != after {
		t.Errorf("flock and its guard: %d threads before, %d after", before, after)
	}
	os.WriteFile(filepath.Join(c.Dir, "go"), nil, 0o600)
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// fill uses up the processes and stays, until SIGTERM.
const fill = `exec perl -e '$SIG{TERM} = sub { exit };
	for (;;) { my $pid = fork; exec "sleep", 1000 if defined $pid && !$pid; select undef, undef, undef, .01 }'`

// TestGuardOfBomb ends a command all of whose descendants ignore SIGTERM, and fork on and on.
func TestGuardOfBomb(t *testing.T) {
	needOurs(t)
	if _, err := exec.LookPath("perl"); err != nil || os.Geteuid() != 0 {
		t.Skip("needs root, to be a user without other processes, and perl")
	}
	runAtLimit(t, withShortGrace(t), 64322, "ulimit -u 60", `exec perl -e '$SIG{TERM} = "IGNORE"; fork while 1'`)
}

// TestGuardInFullCgroup has a command use up the processes of a control group.
func TestGuardInFullCgroup(t *testing.T) {
	needOurs(t)
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("needs perl")
	}
	group, limit := "", ""
	for _, root := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		group = filepath.Join(root, "flock-test-"+strconv.Itoa(os.Getpid()))
		limit = filepath.Join(group, "pids.max")
		if os.Mkdir(group, 0o755) != nil {
			continue
		}
		defer os.Remove(group)
		if os.WriteFile(limit, []byte("40"), 0) == nil {
			runAtLimit(t, oursPath, 0, "echo $$ >"+group+"/cgroup.procs", fill)
			return
		}
	}
	t.Skip("needs a control group with a limit of processes")
}

// runAtLimit runs a script under a flock --limit as a user whose shell has executed what limits processes. The limit of
// flock is reached, and the script has ended at its SIGTERM or after that.
func runAtLimit(t *testing.T, program string, user uint32, limiting, script string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(name, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(copyProgram(program, filepath.Join(dir, "flock")),
		os.WriteFile(filepath.Join(dir, "script"), []byte(script), 0o644)); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	c := exec.Command(bashPath, "-c", limiting+" || exit; exec ./flock --limit 2 f sh script 2>notes")
	c.Dir, c.Stderr = dir, &stderr
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	err := c.Run()
	notes, _ := os.ReadFile(filepath.Join(dir, "notes"))
	isOwn := strings.Contains(string(notes), "flock: sh exceeded its limit of 2 s; terminating it\n")
	if c.ProcessState.ExitCode() != 124 || !isOwn || strings.Contains(string(notes), "goroutine") {
		t.Errorf("%v\n%s%s", err, &stderr, notes)
	}
}
