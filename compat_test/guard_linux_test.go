package compat_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestGuardUnderXNU runs a command with a limit where nobody may ask for the dispositions of SIGKILL and SIGSTOP.
func TestGuardUnderXNU(t *testing.T) {
	needOurs(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "signals-of-xnu", oursPath, "--limit", "60", "f", "echo", "in")
	c.Dir = t.TempDir()
	if out, err := c.CombinedOutput(); err != nil || string(out) != "in\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestGuardMakesNoThread counts the threads of flock and its guard when the command has started and at its end, with many
// signals between: near a limit of processes, to make one would be the end of them.
func TestGuardMakesNoThread(t *testing.T) {
	needOurs(t)
	dir := t.TempDir()
	c := exec.Command(oursPath, "--limit", "60", "f", "sh", "-c",
		`trap : USR1; echo $PPID >in_; mv in_ in; until [ -e go ]; do sleep .01; done; exit 0`)
	c.Dir = dir
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { c.Process.Kill(); c.Wait() }()
	guard := 0
	for end := time.Now().Add(time.Minute); guard == 0; time.Sleep(time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(dir, "in"))
		guard, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		if time.Now().After(end) {
			t.Fatal("the command does not start")
		}
	}
	threads := func() string {
		return "flock " + statusLine(c.Process.Pid, "Threads") + ", guard " + statusLine(guard, "Threads")
	}
	before := threads()
	for range 1000 {
		for _, pid := range []int{c.Process.Pid, guard} {
			unix.Kill(pid, unix.SIGUSR1)
		}
	}
	if after := threads(); after != before {
		t.Errorf("before %s, after %s", before, after)
	}
	os.WriteFile(filepath.Join(dir, "go"), nil, 0o600)
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// TestGuardAtLimitOfProcesses has a command use up the processes that its user may have, until its limit.
func TestGuardAtLimitOfProcesses(t *testing.T) {
	needOurs(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be a user without other processes")
	}
	dir := t.TempDir()
	for _, name := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(name, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(oursPath) // where every user finds it
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "flock"), text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	c := exec.Command("/bin/sh", "-c", `ulimit -u 40; exec ./flock --limit 2 f sh -c '
		trap "echo cleaned up >cleaned; exit" TERM; while :; do sleep 1000 & done' 2>notes`)
	c.Dir, c.Stderr = dir, &stderr
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 64321, Gid: 64321}}
	err = c.Run()
	notes, _ := os.ReadFile(filepath.Join(dir, "notes"))
	isOwn := strings.Contains(string(notes), "flock: sh has exceeded its limit of 2 s and is terminated\n")
	if c.ProcessState.ExitCode() != 124 || !isOwn || strings.Contains(string(notes), "goroutine") {
		t.Errorf("%v\n%s%s", err, &stderr, notes)
	}
}
