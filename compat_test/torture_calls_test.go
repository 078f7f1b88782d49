//go:build linux

package compat_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// stateCalls are the system calls that change what others see of a lock, or look at it. Killing flock before any other
// call has the same effect as killing it before the next one of these.
var stateCalls = []string{"mkdirat", "renameat", "unlinkat", "getdents64", "exit_group"}

// lookCalls only look, so killing flock before one of them leaves the same as killing it before the next change. Most
// calls are of this kind: flock looks in /proc for the owner.
var lookCalls = []string{"getdents64", "openat"}

// TestKilledAtEverySystemCall kills flock, with strace, at the first, second, ... call of each kind, until it succeeds.
// After each kill the next contender must get the lock and leave nothing behind. Of the calls that only look it takes
// the first and then about one in eight, at random, so that each run tries other ones. make test takes half of the forms.
//
// With FLOCK_TORTURE set (make torture) it does so at every system call, which takes many minutes.
func TestKilledAtEverySystemCall(t *testing.T) {
	t.Parallel()
	skipInCheck(t)
	needDirectoryLock(t)
	needStrace(t)
	for _, form := range []struct {
		name, script string
		long         bool // only make long and make torture have the time for it
	}{
		{"command", `$TRACE flock f true`, false},
		{"shared", `$TRACE flock -s f true`, true},
		{"permit", `$TRACE flock --permits 2 f true`, false},
		{"close", `$TRACE flock -o f true`, true},
		{"no-fork", `$TRACE flock -F f true`, true},
		{"number", `exec 9>>f; $TRACE flock 9`, false},
		{"upgrade", `exec 9>>f; flock -s 9 && $TRACE flock 9`, true},
		{"downgrade", `exec 9>>f; flock 9 && $TRACE flock -s 9`, true},
		{"unlock", `exec 9>>f; flock 9 && $TRACE flock -u 9`, false},
		{"waiting", `flock f sh -c ': >in; sleep .1' & until [ -e in ]; do sleep .01; done; rm in; ` +
			`$TRACE flock f true; s=$?; wait; exit $s`, false},
		{"cooldown", `$TRACE flock --cooldown .001 f true`, true},
		{"remove", `$TRACE flock --remove f true`, true},
	} {
		for _, fresh := range []bool{true, false} {
			name := form.name
			if fresh {
				name += ", no state yet"
			}
			if (form.long || fresh && form.name != "command") && !isLong {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				killAtEachCall(t, form.script, fresh)
			})
		}
	}
}

func killAtEachCall(t *testing.T, script string, fresh bool) {
	dir := t.TempDir()
	run := func(words []string, env ...string) (string, int) {
		c := exec.Command(words[0], words[1:]...)
		var out bytes.Buffer
		c.Dir, c.Stdout, c.Stderr = dir, &out, &out
		c.Env = withOurs(append(env, "FLOCK_BACKEND=directory")...)
		c.WaitDelay = time.Minute
		c.Run()
		return out.String(), c.ProcessState.ExitCode()
	}
	// expectRecovery asserts that the next contender gets the lock and leaves nothing behind but the state of a free
	// lock.
	expectRecovery := func(after string) {
		t.Helper()
		if out, status := run([]string{oursPath, "-w", "30", "f", "true"}); status != 0 || out != "" {
			t.Fatalf("%s: the next contender: status %d, %s", after, status, out)
		}
		if names := namesIn(t, filepath.Join(dir, ".f.flock")); !slices.Equal(names, []string{"free"}) {
			t.Fatalf("%s: in the state directory: %q", after, names)
		}
		if slices.Contains(namesIn(t, dir), ".f.flock.new") { // it goes when the next state directory is made
			run([]string{oursPath, "--remove", "f", "true"})
			run([]string{oursPath, "f", "true"})
		}
		if names := namesIn(t, dir); !slices.Equal(names, []string{".f.flock", "f"}) {
			t.Fatalf("%s: beside the lock file: %q", after, names)
		}
	}
	// try runs the script, with TRACE set, where the lock is free.
	try := func(trace string) (out string, status int) {
		if fresh {
			os.RemoveAll(filepath.Join(dir, ".f.flock"))
		}
		return run([]string{"sh", "-c", script}, "TRACE="+trace)
	}
	expectRecovery("at the start")
	calls := stateCalls
	if strings.Contains(script, "wait;") {
		calls = append(slices.Clone(calls), "mknodat", "ppoll")
	}
	move := "renameat"
	if strings.Contains(script, "-u 9") {
		move = "unlinkat"
	}
	all := inTorture()
	if all {
		try("strace -f -qq -c -U name -o calls")
		text, err := os.ReadFile(filepath.Join(dir, "calls"))
		if err != nil {
			t.Fatal(err)
		}
		os.Remove(filepath.Join(dir, "calls"))
		calls = strings.Fields(string(text))
	}
	kills := map[string]int{}
	for _, call := range calls {
		if strings.Contains(call, "-") || call == "syscall" || call == "total" {
			continue // a line of the table's frame
		}
		if call == "nanosleep" {
			continue // the runtime's monitor makes it for as long as the run lasts
		}
		step := 1
		if slices.Contains(lookCalls, call) && !all {
			step = 15
		}
		for n := 1; ; n += 1 + rand.N(step) {
			// strace counts per kind of call and per thread; the first thread makes all moves
			out, status := try(fmt.Sprintf("strace -f -qq -o /dev/null -e trace=%s -e inject=%[1]s:signal=KILL:when=%d",
				call, n))
			expectRecovery(fmt.Sprintf("killed at %s number %d", call, n))
			if status == 0 {
				break
			}
			if kills[call]++; n > 500 {
				t.Fatalf("it never succeeds: %s number %d, status %d, %s", call, n, status, out)
			}
		}
	}
	if kills[move] == 0 || kills["getdents64"] == 0 {
		t.Errorf("too few kills: %v", kills)
	}
	t.Logf("number of kills at each call: %v", kills)
}

// TestHolderEndsAtEverySystemCall stops a waiter after its first, second, ... system call, lets the holder go
// meanwhile, and asserts that the waiter then gets the lock at once: no event is lost, whenever it comes. It takes
// about one call in fifteen, at random; with FLOCK_TORTURE set, all. After some 200 calls a waiter behind an open file
// only repeats its looks.
func TestHolderEndsAtEverySystemCall(t *testing.T) {
	t.Parallel()
	skipInCheck(t)
	const calls = 300
	step := 30
	if inTorture() {
		step = 1
	}
	for name, holder := range map[string][]string{
		"killed": {oursPath, "-F", "f", "cat"},
		"closes": {"sh", "-c", "exec 9>f; flock 9; read line; exec 9>&-; while [ -e held ]; do sleep .1; done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var worst time.Duration
			stops := 0
			for n := 1; n < calls; n += 1 + rand.N(step) {
				stopped := false
				took := atOnce(t, fmt.Sprintf("the waiter, stopped after %d calls, got the lock", n),
					func() (took time.Duration) {
						took, stopped = endHolderAt(t, n, name == "killed", holder)
						return took
					})
				if !stopped {
					break
				}
				stops++
				worst = max(worst, took)
			}
			if stops < 5 {
				t.Errorf("only %d stops", stops)
			}
			t.Logf("%d stops, and the waiter in at most %v later", stops, worst)
		})
	}
}

// endHolderAt lets the holder go while a waiter is stopped after n system calls. It returns how long it then took until
// the waiter had had the lock, and whether the waiter was stopped before it slept.
func endHolderAt(t *testing.T, n int, kill bool, holder []string) (took time.Duration, stopped bool) {
	q := newWaitQueue(t, t.TempDir(), holder...)
	held := filepath.Join(q.dir, "held")
	os.WriteFile(held, nil, 0o666)
	w := q.command(oursPath, "f", "true")
	runtime.LockOSThread()
	w.SysProcAttr.Ptrace = true
	q.start(w)
	stopped, err := stopAfter(w.Process.Pid, n)
	runtime.UnlockOSThread()
	if err != nil {
		t.Skip("needs the permission to trace: ", err)
	}
	q.await("a waiter that is stopped or waits", func() bool {
		return isInState(w.Process.Pid, "T") || !stopped && len(q.names("wait,")) > 0
	})
	if kill {
		q.holder.Process.Kill()
		q.holder.Wait()
	}
	q.in.Close()
	if !kill {
		q.awaitClosed()
	}
	unix.Kill(w.Process.Pid, unix.SIGCONT)
	took = q.finish(w)
	os.Remove(held)
	if !kill {
		q.finish(q.holder)
	}
	return took, stopped
}

// TestCloseBesideForks lets a holder close its file while processes are made faster than one can look into each. Then
// somebody who waits and somebody who does not find that nobody has the file open.
func TestCloseBesideForks(t *testing.T) {
	t.Parallel()
	skipInCheck(t)
	const holder = "exec 9>f; flock 9; read line; exec 9>&-; while [ -e held ]; do sleep .1; done"
	for _, waits := range []bool{true, false} {
		q := newWaitQueue(t, t.TempDir(), "sh", "-c", holder)
		held := filepath.Join(q.dir, "held")
		os.WriteFile(held, nil, 0o666)
		all := []*exec.Cmd{q.holder}
		for range 8 * runtime.NumCPU() {
			c := q.command("sh", "-c", "while [ -e held ]; do /bin/true; done")
			q.start(c)
			all = append(all, c)
		}
		next := q.command(oursPath, "-n", "f", "true")
		if waits {
			next = q.addWaiters(1, oursPath, "f", "true")[0]
		}
		q.in.Close()
		q.awaitClosed()
		if !waits {
			q.start(next)
		}
		q.finish(next)
		os.Remove(held)
		q.finish(all...)
	}
}

// awaitClosed waits until the holder has closed descriptor 9.
func (q *waitQueue) awaitClosed() {
	q.t.Helper()
	q.await("a closed descriptor", func() bool {
		_, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/9", q.holder.Process.Pid))
		return err != nil
	})
}

// stopAfter lets a traced process that has just been started make n system calls, and then stops it and no longer
// traces it. It returns false if the process has gone to sleep before.
func stopAfter(pid, n int) (stopped bool, err error) {
	var status syscall.WaitStatus
	if _, err = syscall.Wait4(pid, &status, 0, nil); err != nil {
		return false, err
	}
	if err = syscall.PtraceSetOptions(pid, unix.PTRACE_O_TRACESYSGOOD); err != nil {
		return false, err
	}
	const isCall = 0x80
	for stops := 0; stops < 2*n; { // one before each call and one after it
		signal := 0
		if s := status.StopSignal(); s != unix.SIGTRAP && s != unix.SIGTRAP|isCall {
			signal = int(s)
		}
		if err = syscall.PtraceSyscall(pid, signal); err != nil {
			return false, err
		}
		for asleep := 0; ; {
			got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
			if err != nil {
				return false, err
			}
			if got == pid {
				break
			}
			if asleep++; !isInState(pid, "S") {
				asleep = 0
			}
			if asleep > 200 { // for a tenth of a second and more: longer than it pauses
				unix.Kill(pid, unix.SIGCONT) // a process that does not stop cannot be detached from
				if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
					return false, err
				}
				return false, detach(pid, 0)
			}
			time.Sleep(500 * time.Microsecond)
		}
		if status.StopSignal() == unix.SIGTRAP|isCall {
			stops++
		}
	}
	return true, detach(pid, unix.SIGSTOP)
}

func detach(pid int, signal unix.Signal) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(pid), 0, uintptr(signal), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
