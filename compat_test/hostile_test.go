//go:build linux

package compat_test

import (
	"bytes"
	"fmt"
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

// TestKilledAtEverySystemCall kills flock, with strace, at the first, second, ... call of each kind, until it succeeds.
// After each kill the next contender must get the lock and leave nothing behind.
//
// With FLOCK_TORTURE set it does so at every system call, which takes many minutes.
func TestKilledAtEverySystemCall(t *testing.T) {
	skipInCheck(t)
	needDirectoryLock(t)
	if !succeeds("strace", "-f", "-o", "/dev/null", "true") {
		t.Skip("needs strace, and the permission to trace")
	}
	for _, form := range []struct{ name, script string }{
		{"command", `$TRACE flock f true`},
		{"shared", `$TRACE flock -s f true`},
		{"permit", `$TRACE flock --permits 2 f true`},
		{"close", `$TRACE flock -o f true`},
		{"no-fork", `$TRACE flock -F f true`},
		{"number", `exec 9>>f; $TRACE flock 9`},
		{"upgrade", `exec 9>>f; flock -s 9 && $TRACE flock 9`},
		{"downgrade", `exec 9>>f; flock 9 && $TRACE flock -s 9`},
		{"unlock", `exec 9>>f; flock 9 && $TRACE flock -u 9`},
		{"waiting", `flock f sh -c ': >in; sleep .1' & until [ -e in ]; do sleep .01; done; rm in; $TRACE flock f true; s=$?; wait; exit $s`},
		{"cooldown", `$TRACE flock --cooldown .001 f true`},
		{"remove", `$TRACE flock --remove f true`},
	} {
		for _, fresh := range []bool{true, false} {
			name := form.name
			if fresh {
				name += ", no state yet"
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
	run := func(text string, env ...string) (string, int) {
		c := exec.Command("sh", "-c", text)
		var out bytes.Buffer
		c.Dir, c.Stdout, c.Stderr = dir, &out, &out
		c.Env = slices.Concat(os.Environ(), env, []string{"FLOCK_BACKEND=directory",
			"PATH=" + filepath.Dir(oursPath) + ":" + os.Getenv("PATH")})
		c.WaitDelay = time.Minute
		c.Run()
		return out.String(), c.ProcessState.ExitCode()
	}
	prepare := func() {
		if fresh {
			os.RemoveAll(filepath.Join(dir, ".f.flock"))
		} else if out, status := run("flock f true"); status != 0 {
			t.Fatalf("status %d, %s", status, out)
		}
	}
	calls := stateCalls
	if strings.Contains(script, "wait;") {
		calls = append(slices.Clone(calls), "mknodat", "ppoll")
	}
	if fresh && strings.Contains(script, "-s f") {
		calls = append(slices.Clone(calls), "openat") // most of which only read
	}
	if os.Getenv("FLOCK_TORTURE") != "" {
		prepare()
		run(script, "TRACE=strace -f -qq -c -U name -o calls")
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
		for {
			prepare()
			// strace counts per kind of call and per thread; the first thread makes all moves
			n := kills[call] + 1
			trace := "TRACE=strace -f -qq -o /dev/null -e trace=%s -e inject=%[1]s:signal=KILL:when=%d"
			_, status := run(script, fmt.Sprintf(trace, call, n))
			expectRecovery(t, run, dir, fmt.Sprintf("killed at %s number %d", call, n))
			if status == 0 {
				break
			}
			if kills[call]++; n > 500 {
				t.Fatal("it never succeeds")
			}
		}
	}
	if kills["renameat"] == 0 || kills["getdents64"] == 0 {
		t.Errorf("too few kills: %v", kills)
	}
	t.Logf("killed at each of %v", kills)
}

// expectRecovery asserts that the next contender gets the lock and leaves nothing behind.
func expectRecovery(t *testing.T, run func(string, ...string) (string, int), dir, after string) {
	t.Helper()
	if out, status := run("flock -w 30 f true"); status != 0 || out != "" {
		t.Fatalf("%s: the next contender: status %d, %s", after, status, out)
	}
	if names := namesIn(t, filepath.Join(dir, ".f.flock")); !slices.Equal(names, []string{"free"}) {
		t.Fatalf("%s: in the state directory: %q", after, names)
	}
	if names := namesIn(t, dir); !slices.Equal(names, []string{".f.flock", "f"}) {
		t.Fatalf("%s: beside the lock file: %q", after, names)
	}
}
