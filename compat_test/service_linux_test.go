//go:build amd64 || arm64

package compat_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	if len(os.Args) > 2 && os.Args[1] == "few-calls" {
		allowFewCalls(os.Args[2:])
	}
}

// allowFewCalls executes argv under a filter that refuses all system calls but those that flock makes without the Go
// runtime, and those that this Go program may make before it executes argv. systemd.exec(5) has all of them in
// @system-service. No Go runtime can start: clone(2) makes no thread.
func allowFewCalls(argv []string) {
	filter := []unix.SockFilter{
		load(callNumber), jump(unix.SYS_CLONE, 0, 5),
		load(firstArgument), and(unix.CLONE_THREAD), jump(0, 1, 0), fail(unix.EPERM), allow,
	}
	const archPrctl = 158 // on amd64
	for _, call := range []uint32{archPrctl, unix.SYS_EXECVE, unix.SYS_EXIT_GROUP, unix.SYS_OPENAT, unix.SYS_CLOSE,
		unix.SYS_FLOCK, unix.SYS_FCNTL, unix.SYS_WAIT4, unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGRETURN,
		unix.SYS_CLOCK_GETTIME, unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_DELETE,
		unix.SYS_FUTEX, unix.SYS_WRITE, unix.SYS_RT_SIGPROCMASK, unix.SYS_SIGALTSTACK, unix.SYS_NANOSLEEP,
		unix.SYS_TGKILL, unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MADVISE,
		unix.SYS_SCHED_YIELD} {
		filter = append(filter, jump(call, 0, 1), allow)
	}
	execFiltered(append(filter, fail(unix.EPERM)), argv)
}

// TestInService runs the main forms where a service may make few system calls and no threads.
func TestInService(t *testing.T) {
	needEarlyRun(t)
	command := oursPath + " -u 0" // the smallest there is
	for _, form := range []struct {
		words  string
		status int
	}{
		{"f " + command, 0}, {"-F f " + command, 0}, {"-w 5 -o f " + command, 0}, {"-s -n f " + command, 0},
		{"--fcntl f " + command, 0}, {"f " + oursPath + " -n -E 7 held " + command, 7},
		{"-w .1 -E 8 held " + command, 8},
		{"0", 0}, {"-w 5 0", 0}, {"-u 0", 0}, {"--fd 0 " + command, 0},
	} {
		t.Run(strings.ReplaceAll(form.words, oursPath, "flock"), func(t *testing.T) {
			dir := t.TempDir()
			held, err := os.Create(filepath.Join(dir, "held"))
			if err != nil {
				t.Fatal(err)
			}
			own := filepath.Join(dir, "own")
			if err := os.WriteFile(own, nil, 0o666); err != nil {
				t.Fatal(err)
			}
			defer held.Close()
			if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil {
				t.Fatal(err)
			}
			c := exec.Command(selfPath(t), append([]string{"few-calls", oursPath}, strings.Fields(form.words)...)...)
			c.Dir = dir
			stdin, err := os.Open(own)
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			c.Stdin = stdin
			out, _ := c.CombinedOutput()
			if status := c.ProcessState.ExitCode(); status != form.status {
				t.Errorf("status %d, want %d: %s", status, form.status, out)
			}
		})
	}
}
