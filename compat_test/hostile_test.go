//go:build linux

package compat_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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
