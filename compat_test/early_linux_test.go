package compat_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hasEarlyRun reports whether the flock under test can run without the Go
// runtime, which depends on the system and on how it was built.
func hasEarlyRun() bool {
	if oursPath == "" {
		return false
	}
	out, err := exec.Command(oursPath, filepath.Join(workDir, "probe"), "sh", "-c",
		"grep Threads /proc/$PPID/status").Output()
	return err == nil && strings.Join(strings.Fields(string(out)), " ") == "Threads: 1"
}

// TestEarly runs the cases where no Go runtime can start: all cases in which flock prints nothing, except those which
// say why it starts the runtime all the same.
func TestEarly(t *testing.T) {
	needOurs(t)
	// qemu-user needs threads itself: there nothing keeps the runtime from starting
	emulated := os.Getenv("FLOCK_TEST_QEMU")
	if emulated != "" && emulated != "arm64" {
		t.Skip("on this architecture flock has no run without the Go runtime")
	}
	if emulated == "" && !hasEarlyRun() {
		supported := runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64"
		if supported && os.Getenv("FLOCK_UNDER_TEST") == "" {
			t.Fatal("flock does not run without the Go runtime")
		}
		t.Skip("this flock has no run without the Go runtime")
	}
	w := newModeWorld(t, "early", oursPath)
	if emulated == "" {
		w.under = []string{selfPath(t), "without-threads"}
	}
	table, there := newTally("Early"), referenceThere(t)
	runEachCase(t, table, depth{everyCase, everyCase}, func(t *testing.T, c compatCase) {
		reason := startsRuntime(c)
		if emulated != "" && c.runtime != "" {
			reason = "qemu-user itself needs what this takes away"
		}
		if reason != "" {
			table.add(func() { table.skipped[reason] = append(table.skipped[reason], c.name) })
			t.Skip(reason)
		}
		check(t, table, w, there, c)
	})
}

func needEarlyRun(t *testing.T) {
	needOurs(t)
	if !hasEarlyRun() {
		t.Skip("this flock has no run without the Go runtime, or qemu-user shows its own threads")
	}
}

// TestEarlyWaits checks threads, memory and wake-ups of a flock that waits for the lock, or for its command.
func TestEarlyWaits(t *testing.T) {
	needEarlyRun(t)
	for _, form := range []struct{ name, script string }{
		{"without limit", `exec flock f true`},
		{"with a limit", `exec flock -w 60 f true`},
		{"long options", `exec flock --exclusive --timeout 60 --close --conflict-exit-code 5 f true`},
		{"by number", `exec 9>>f; exec flock -w 60 9`},
		{"fcntl", `exec flock --fcntl f true`},
		{"with --fd and -c", `exec 9>>f; exec flock --fd 9 -c true`},
		{"for the command", `exec flock g sh -c 'until [ -e go ]; do sleep .01; done'`},
	} {
		t.Run(form.name, func(t *testing.T) {
			dir := t.TempDir()
			lock, err := os.OpenFile(filepath.Join(dir, "f"), os.O_CREATE|os.O_RDWR, 0o666)
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Close()
			all := unix.Flock_t{Type: unix.F_WRLCK}
			if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
				t.Fatal(err)
			}
			if err := unix.FcntlFlock(lock.Fd(), unix.F_OFD_SETLK, &all); err != nil {
				t.Fatal(err)
			}
			waiter := exec.Command("sh", "-c", form.script)
			waiter.Dir = dir
			waiter.Env = withOurs()
			waiter.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := waiter.Start(); err != nil {
				t.Fatal(err)
			}
			defer waiter.Wait()
			defer syscall.Kill(-waiter.Process.Pid, syscall.SIGKILL)
			pid := waiter.Process.Pid
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
				if statusLine(pid, "Name") == "flock" && isInState(pid, "S") {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("it does not wait: %s", statusLine(pid, "State"))
				}
			}
			before := statusNumbers(t, pid)
			if before["Threads"] != 1 {
				t.Errorf("%d threads", before["Threads"])
			}
			if before["VmHWM"] > 500 { // mostly 340; the kernel may map more pages of the program
				t.Errorf("%d KiB resident", before["VmHWM"])
			}
			if form.name == "for the command" {
				return // the check below is for the wait for the lock
			}
			time.Sleep(200 * time.Millisecond)
			if after := statusNumbers(t, pid); after["voluntary_ctxt_switches"] != before["voluntary_ctxt_switches"] {
				t.Error("it wakes up while it waits")
			}
		})
	}
}

// TestEarlyAndOrdinary makes lock calls fail in a flock that begins without the Go runtime, and in one that begins with
// it because FLOCK_BACKEND is set. Both must end alike. make test takes every second error for each form.
func TestEarlyAndOrdinary(t *testing.T) {
	t.Parallel()
	skipInCheck(t)
	needEarlyRun(t)
	needStrace(t)
	for i, form := range []string{
		"f sh -c 'exit 3'", "-s f true", "-n f true", "-w 5 f true", "-F f true", "-u f true", "d true", "9",
		"-s 9", "-u 9", "-w 5 9", "8", "--fd 9 true", "-n -E 7 --fd 8 true",
		"--fcntl f true", "--fcntl -s f true", "--fcntl -n d true", "--fcntl 9", "--fcntl -w 5 -s 8",
	} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			call := "flock"
			if strings.Contains(form, "fcntl") {
				call = "fcntl"
			}
			for j, errno := range strings.Fields("ENOLCK EIO EBADF EINVAL ENOSYS EAGAIN EACCES EINTR") {
				if (i+j)%2 == 1 && !isLong {
					continue
				}
				if errno == "EINTR" && call == "flock" {
					errno += ":when=1" // otherwise it would never end
				} else if errno == "EINTR" {
					continue // the Go runtime itself makes the first call
				}
				script := `exec 9>>f 8<f
					strace -f -qqq -o /dev/null -e trace=` + call + ` -e inject=` + call + `:error=` + errno +
					` flock ` + form + `
					echo $?`
				run := func(env ...string) string {
					dir := t.TempDir()
					if err := os.Mkdir(filepath.Join(dir, "d"), 0o777); err != nil {
						t.Fatal(err)
					}
					out := runScriptIn(t, dir, script, env...)
					left, _ := filepath.Glob(filepath.Join(dir, "[^.]*"))
					for _, path := range left {
						out += filepath.Base(path) + "\n"
					}
					return out
				}
				early, ordinary := run(), run("FLOCK_BACKEND=auto")
				if early != ordinary {
					t.Errorf("%s: %sbut with the Go runtime: %s", errno, early, ordinary)
				}
			}
		})
	}
}

// runScript runs a script in an empty directory and returns its output.
func runScript(t *testing.T, script string, env ...string) string {
	return runScriptIn(t, t.TempDir(), script, env...)
}

func runScriptIn(t *testing.T, dir, script string, env ...string) string {
	c := exec.Command("sh", "-c", script)
	c.Dir = dir
	c.Env = withOurs(env...)
	out, err := c.CombinedOutput()
	if err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestEarlyGivesUp asserts that the Go runtime starts where it is needed.
func TestEarlyGivesUp(t *testing.T) {
	needEarlyRun(t)
	const probe = `sh -c 'grep Threads /proc/$PPID/status'`
	for name, script := range map[string]string{
		"FLOCK_BACKEND":      `FLOCK_BACKEND=flock flock f ` + probe,
		"abbreviated option": `flock --sha f ` + probe,
		"permits":            `flock --permits 2 f ` + probe,
	} {
		t.Run(name, func(t *testing.T) {
			out := strings.Fields(runScript(t, script))
			if len(out) != 2 || out[0] != "Threads:" || out[1] == "1" {
				t.Errorf("output %q", out)
			}
		})
	}
}

// Limits of memory for the Go runtime, in KiB: little more than the least with which it has started, enough for each
// run, as flock tells the user, and a fifth less than the least.
var memoryLimits = []struct{ option, least, enough, below, line string }{
	{"-v", "706000", "781250", "563200", "flock: cannot start: ulimit -v leaves less than the 800 MB that this needs"},
	{"-d", "41000", "48828", "32360", "flock: cannot start: ulimit -d leaves less than the 50 MB that this needs"},
}

// TestEarlyMemoryLimit runs what needs the Go runtime under limits of memory: with a fifth less than the least there is
// always a line, and with enough it works. Where some runs work, none is refused.
func TestEarlyMemoryLimit(t *testing.T) {
	needEarlyRun(t)
	forms := []string{"--version", "--verbose f true", "--report 0 f true", "-u --permits 2 9", "/no/f true", "-w x f"}
	for _, limit := range memoryLimits {
		t.Run(limit.option, func(t *testing.T) {
			below := runScript(t, `ulimit `+limit.option+` `+limit.below+`
				for i in 1 2 3; do for form in '`+strings.Join(forms, "' '")+`'; do flock $form; echo $?; done; done 2>&1`)
			if want := strings.Repeat(limit.line+"\n71\n", 3*len(forms)); below != want {
				t.Errorf("with %s: %q; want %q", limit.below, below, want)
			}
			enough := runScript(t, `ulimit `+limit.option+` `+limit.enough+`
				for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do flock --report 0 f echo in; done 2>&1`)
			if want := strings.Repeat("in\n", 20); enough != want {
				t.Errorf("with %s: %q; want %q", limit.enough, enough, want)
			}
			// An option behind the file is told without waiting for the lock, as where there is no limit.
			misplaced := runScript(t, `ulimit `+limit.option+` `+limit.enough+`0
				exec 9>g; flock 9; flock g -n true 2>&1; echo $?`)
			if !strings.HasPrefix(misplaced, "flock: failed to execute -n") || !strings.HasSuffix(misplaced, "\n69\n") {
				t.Errorf("with %s0: %q", limit.enough, misplaced)
			}
			// Those that fail end with a dump of the runtime's stacks.
			least := runScript(t, `ulimit `+limit.option+` `+limit.least+`
				for i in 1 2 3 4 5 6 7 8 9 10; do flock --version; done 2>&1`)
			if strings.Contains(least, "leaves less than") {
				t.Errorf("with %s: %q", limit.least, least)
			}
		})
	}
}

// TestEarlyTellsWithLittleMemory asserts that a command which cannot be executed is told in the same words where the Go
// runtime cannot start.
func TestEarlyTellsWithLittleMemory(t *testing.T) {
	needEarlyRun(t)
	script := func(limit string) string {
		return limit + `
			mkdir dir; echo x >not-executable; exec 9>>g 8>&2
			tell() { "$@" 2>lines; status=$?; head -n 1 lines; cat h; echo $status; }
			: >h
			tell flock -n f /nonexistent
			tell flock -F f /nonexistent
			tell flock -o f no-such-program
			tell flock --fd 9 ./dir
			tell flock -s f ./not-executable
			tell env SHELL=/nosh flock f -c true
			tell sh -c 'exec flock --fcntl h /nonexistent 2>&-'
			tell flock f sh -c 'exit 3'`
	}
	want, got := runScript(t, script("")), runScript(t, script("ulimit -v 200000"))
	if want != got || strings.Count(got, "failed to execute") != 6 {
		t.Errorf("%s\nwith memory:\n%s", got, want)
	}
}
