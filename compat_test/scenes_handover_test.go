//go:build unix

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

// runEachBackend runs a test with the kernel's locks and with the directory lock.
func runEachBackend(t *testing.T, f func(t *testing.T, dir string, env []string)) {
	needOurs(t)
	for _, way := range []string{"native", "directory"} {
		t.Run(way, func(t *testing.T) {
			if way == "directory" {
				needDirectoryLock(t)
			}
			env := withOurs("FLOCK_BACKEND=" + way)
			f(t, t.TempDir(), env)
		})
	}
}

// startScript starts sh in dir.
func startScript(t *testing.T, dir string, env []string, text string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command("sh", append([]string{"-c", text, "sh"}, args...)...)
	c.Dir, c.Env = dir, env
	c.Stdout = new(bytes.Buffer)
	c.Stderr = c.Stdout
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// waitForScript waits for a script, which must succeed and print nothing.
func waitForScript(t *testing.T, c *exec.Cmd) {
	t.Helper()
	err := c.Wait()
	if out := fmt.Sprint(c.Stdout); err != nil || out != "" {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestPermitHandOver measures how long a released permit stays unused while eight processes wait for one. The limit
// allows for a busy machine.
func TestPermitHandOver(t *testing.T) {
	skipInCheck(t)
	runEachBackend(t, func(t *testing.T, dir string, env []string) {
		// A worker makes one file when it gets its permit, and one before it releases it.
		worker := `exec 9>>f
for i in 1 2 3 4 5; do
	flock --permits 2 9 || exit
	: >"in.$1.$i"
	sleep .02
	: >"out.$1.$i"
	flock -u --permits 2 9
done`
		if !numbersInDirectory() { // where the permits of BSDs are
			worker = `for i in 1 2 3 4 5; do
	flock --permits 2 f sh -c ': >"in.$0"; sleep .02; : >"out.$0"' "$1.$i" || exit
done`
		}
		var workers []*exec.Cmd
		for i := range 10 { // two hold a permit, eight wait
			workers = append(workers, startScript(t, dir, env, worker, fmt.Sprint(i)))
		}
		for _, w := range workers {
			waitForScript(t, w)
		}
		var ins, outs []time.Time
		for _, prefix := range []string{"in.", "out."} {
			names, _ := filepath.Glob(filepath.Join(dir, prefix+"*"))
			for _, name := range names {
				info, err := os.Stat(name)
				if err != nil {
					t.Fatal(err)
				}
				if prefix == "in." {
					ins = append(ins, info.ModTime())
				} else {
					outs = append(outs, info.ModTime())
				}
			}
		}
		// the permit that the n-th holder releases goes to holder n+2
		slices.SortFunc(ins, time.Time.Compare)
		slices.SortFunc(outs, time.Time.Compare)
		if len(ins) != 50 || len(outs) != 50 {
			t.Fatalf("%d in, %d out", len(ins), len(outs))
		}
		var pauses []time.Duration
		for i := 2; i < 42; i++ { // near the end fewer than eight wait
			pauses = append(pauses, ins[i].Sub(outs[i-2]))
		}
		slices.Sort(pauses)
		t.Logf("hand-over of a permit, eight waiting: median %v, longest %v",
			pauses[len(pauses)/2], pauses[len(pauses)-1])
		if median := pauses[len(pauses)/2]; median > 250*time.Millisecond {
			t.Errorf("a free permit was unused for %v", median)
		}
	})
}

// TestCooldownHasNoGap starts many contenders that try to get the lock between the end of a command and the moment at
// which its cooldown is set. Each command records when it begins and when it ends: between the end of one and the
// beginning of the next there must be a whole cooldown. The command takes longer than the cooldown, so the cooldown
// that is set at its start is over when it ends.
func TestCooldownHasNoGap(t *testing.T) {
	t.Parallel()
	skipInCheck(t)
	const cooldown = 30 * time.Millisecond
	commands := 15
	if isLong {
		commands = 45
	}
	runEachBackend(t, func(t *testing.T, dir string, env []string) {
		t.Parallel()
		const worker = `while [ ! -e stop ]; do
	flock -w .5 --cooldown .03 f bash -c 'echo ${EPOCHREALTIME/./}000 >>log; sleep .04
		echo ${EPOCHREALTIME/./}000 >>log' || [ $? = 1 ] || exit
done`
		var workers []*exec.Cmd
		for range 6 {
			workers = append(workers, startScript(t, dir, env, worker))
		}
		log := func() []string {
			text, _ := os.ReadFile(filepath.Join(dir, "log"))
			return strings.Fields(string(text))
		}
		for end := time.Now().Add(time.Minute); len(log()) < 2*commands && time.Now().Before(end); {
			time.Sleep(20 * time.Millisecond)
		}
		if err := os.WriteFile(filepath.Join(dir, "stop"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, w := range workers {
			waitForScript(t, w)
		}
		lines := log()
		if len(lines) < 2*commands || len(lines)%2 != 0 {
			t.Fatalf("%d lines", len(lines))
		}
		shortest := time.Hour
		for i := 2; i < len(lines); i += 2 {
			var begin, end time.Duration
			fmt.Sscan(lines[i], &begin)
			fmt.Sscan(lines[i-1], &end)
			shortest = min(shortest, begin-end)
		}
		t.Logf("%d commands, shortest pause %v", len(lines)/2, shortest)
		if shortest < cooldown {
			t.Errorf("a command began %v after the end of another, with a cooldown of %v", shortest, cooldown)
		}
	})
}
