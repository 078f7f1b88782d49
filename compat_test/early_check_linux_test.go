//go:build amd64 || arm64

package compat_test

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// runCheck runs the check that make makes with a new release of Go, and returns the line that it prints.
func runCheck(program string) string {
	out, _ := exec.Command("sh", "../internal/early/check.sh", program, "0.0").CombinedOutput()
	return string(out)
}

// TestCheck checks the program. It passes.
func TestCheck(t *testing.T) {
	needEarlyRun(t)
	if said := runCheck(oursPath); said != "" {
		t.Error(said)
	}
}

// TestCheckMutants puts the faults of mutants.txt into our source that the check sees: each makes that one fail to which
// it belongs.
func TestCheckMutants(t *testing.T) {
	pattern := os.Getenv("FLOCK_MUTANTS")
	if pattern == "" {
		t.Skip("make mutants runs it")
	}
	needEarlyRun(t)
	for _, m := range readMutants(t) {
		isOther := strings.HasSuffix(m.file, ".s") && !strings.HasSuffix(m.file, "_"+runtime.GOARCH+".s")
		if matched, _ := path.Match(pattern, m.name); !matched || m.env != "check" || isOther {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			program := m.build(t)
			defer os.Remove(program)
			if said := runCheck(program); !strings.HasPrefix(said, "flock does not fit Go 0.0: "+m.found+": ") {
				t.Errorf("not seen: %q", said)
			}
		})
	}
}

// TestMakeChecks makes a small tree with our Makefile, a release of Go that doc/go.md does not know, and a program that
// gives each command the status 3.
func TestMakeChecks(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("needs make")
	}
	dir := t.TempDir()
	writeTree(t, dir, makefiles(t))
	writeTree(t, dir, map[string]string{
		"go.mod": "module flock\n", "go.sum": "", "main.go": "", "doc/go.md": "| Go 0.0 | |\n",
		"packaging/version.sh": "#!/bin/sh\necho 1\n", "program": "#!/bin/sh\nexit 3\n",
		"internal/early/known.sh": read(t, "../internal/early/known.sh"),
		"internal/early/check.sh": read(t, "../internal/early/check.sh"),
	})
	isThere := func() bool {
		_, err := os.Stat(filepath.Join(dir, "flock"))
		return err == nil
	}
	runMake := func(more ...string) (string, error) {
		words := []string{"-C", dir, "flock", "GOBUILD=cp program flock; :", "FORCE=", "PLAIN="}
		out, err := exec.Command("make", append(words, more...)...).CombinedOutput()
		return string(out), err
	}
	out, err := runMake()
	for _, want := range []string{": status: env flock f ", "'make PLAIN=1'", "'make FORCE=1'", "see doc/go.md\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in:\n%s", want, out)
		}
	}
	if err == nil || isThere() {
		t.Errorf("%v; the program is there: %v", err, isThere())
	}
	// Each builds what the one before it has not built. riscv64 runs nowhere here.
	for _, variable := range []string{"FORCE=1", "PLAIN=1", "GOARCH=riscv64"} {
		out, err := runMake(variable)
		if isBuilt := strings.Contains(out, "\ncp program"); err != nil || !isBuilt || !isThere() {
			t.Errorf("%s: %v; the program is there: %v\n%s", variable, err, isThere(), out)
		}
	}
	os.Remove(filepath.Join(dir, "flock"))
	release := strings.SplitN(runtime.Version(), ".", 3)
	writeTree(t, dir, map[string]string{
		"doc/go.md": "| " + strings.Replace(release[0], "go", "Go ", 1) + "." + release[1] + " | |\n"})
	if out, err := runMake(); err != nil || !isThere() {
		t.Errorf("with a release that it knows: %v\n%s", err, out)
	}
}

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

// TestForkRefused runs flock where no child can be created: flock reports "fork failed", not "failed to execute". With
// --no-fork it needs no child and succeeds.
func TestForkRefused(t *testing.T) {
	needOurs(t)
	for _, program := range []string{oursPath, referencePath} {
		if program == "" {
			continue
		}
		t.Run(filepath.Dir(program), func(t *testing.T) {
			for filter, text := range map[string]string{
				"fork-says-EAGAIN": "Resource temporarily unavailable",
				"fork-says-ENOMEM": "Cannot allocate memory",
				"fork-says-EPERM":  "Operation not permitted",
			} {
				for _, backend := range []string{"", "directory"} {
					for option, want := range map[string]string{
						"-n": "flock: fork failed: " + text + "\n71",
						"-F": "in\n0",
					} {
						c := exec.Command(selfPath(t), filter, program, option, "f", "echo", "in")
						c.Dir = t.TempDir()
						c.Env = append(os.Environ(), "LC_ALL=C", "FLOCK_BACKEND="+backend)
						out, _ := c.CombinedOutput()
						if got := fmt.Sprintf("%s%d", out, c.ProcessState.ExitCode()); got != want {
							t.Errorf("%s, backend %q, %s:\n%s\nwant:\n%s", filter, backend, option, got, want)
						}
					}
				}
			}
		})
	}
}

// TestCannotStart runs flock where a thread cannot have storage of its own, without which no code of Go can run, and none
// of C either.
func TestCannotStart(t *testing.T) {
	needEarlyRun(t)
	if runtime.GOARCH != "amd64" {
		t.Skip("only amd64 has arch_prctl(2)")
	}
	for _, env := range []string{"NO_ENV=1", "FLOCK_BACKEND=auto"} {
		c := exec.Command(selfPath(t), "without-arch_prctl", oursPath, "f", "true")
		c.Dir = t.TempDir()
		c.Env = append(os.Environ(), env)
		out, _ := c.CombinedOutput()
		if string(out) != "flock: cannot start: arch_prctl(2) is forbidden\n" || c.ProcessState.ExitCode() != 127 {
			t.Errorf("%s: status %d, %q", env, c.ProcessState.ExitCode(), out)
		}
	}
}
