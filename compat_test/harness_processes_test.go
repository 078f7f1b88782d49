//go:build unix

package compat_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// withOurs returns the environment of the tests, with ours as the flock in PATH, and with some variables more.
func withOurs(more ...string) []string {
	path := "PATH=" + filepath.Dir(oursPath) + ":" + os.Getenv("PATH")
	return append(append(os.Environ(), path), more...)
}

// statusLine returns a line of /proc/PID/status, "" if there is no such process.
func statusLine(pid int, name string) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, line, _ := strings.Cut("\n"+string(text), "\n"+name+":\t")
	line, _, _ = strings.Cut(line, "\n")
	return line
}

// isInState reports whether a process is in a state of proc_pid_status(5), such as "S".
func isInState(pid int, state string) bool { return strings.HasPrefix(statusLine(pid, "State"), state) }

// statusNumbers returns the numbers in proc_pid_status(5), by name.
func statusNumbers(t *testing.T, pid int) map[string]int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]int{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		numbers[name], _ = strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
	}
	return numbers
}

func parentOf(pid int) (parent int) {
	parent, _ = strconv.Atoi(statusLine(pid, "PPid"))
	return parent
}

// children returns the children of a process, of all its threads.
func children(pid int) (pids []int) {
	threads := fmt.Sprintf("/proc/%d/task", pid)
	entries, _ := os.ReadDir(threads)
	for _, entry := range entries {
		text, _ := os.ReadFile(filepath.Join(threads, entry.Name(), "children"))
		for _, word := range strings.Fields(string(text)) {
			var child int
			fmt.Sscan(word, &child)
			pids = append(pids, child)
		}
	}
	return pids
}

func descendants(pid int) (all []int) {
	for _, child := range children(pid) {
		all = append(append(all, child), descendants(child)...)
	}
	return all
}

// countWakeUps returns how often the first thread of each process and of its descendants wakes within some seconds: each
// time they look at the lock. The Go runtime wakes threads of its own then, too; and in voluntary_ctxt_switches a wait
// for another one within the kernel counts like sleep.
func countWakeUps(t *testing.T, seconds int, processes ...int) []int {
	needStrace(t)
	args := []string{strconv.Itoa(seconds), "strace", "-qq", "-e", "trace=/poll|futex|nanosleep|^wait"}
	counts, group := make([]int, len(processes)), map[int]int{}
	for i, process := range processes {
		for _, pid := range append(descendants(process), process) {
			args, group[pid] = append(args, "-p", strconv.Itoa(pid)), i
		}
	}
	said, _ := exec.Command("timeout", args...).CombinedOutput()
	for line := range strings.Lines(string(said)) {
		pid := 0
		switch n, _ := fmt.Sscanf(line, "[pid %d]", &pid); {
		case strings.HasPrefix(line, "strace: "):
			t.Skip("strace cannot look at running processes here: " + line)
		case n == 1 && strings.Contains(line, " = ") && !strings.Contains(line, "FUTEX_WAKE"):
			counts[group[pid]]++
		}
	}
	return counts
}

// awaitLimit waits for the end of a script or of its time, and reports whether that is over.
func (w *world) awaitLimit(ended <-chan struct{}) (isOver bool) {
	for began, limit := time.Now(), w.limit; ; {
		select {
		case <-ended:
			return false
		case <-time.After(time.Until(began.Add(limit))):
		}
		if w.grows {
			limit = time.Duration(float64(w.limit) * loadNow())
		}
		if time.Since(began) >= limit {
			return true
		}
	}
}

// loadNow returns how many times as long as on an idle machine a program takes here and now: the time that true(1)
// takes, over what it uses of a processor.
func loadNow() float64 {
	var took, used time.Duration
	for range 5 {
		program := exec.Command("true")
		began := time.Now()
		if program.Run() != nil {
			return 1
		}
		took += time.Since(began)
		used += program.ProcessState.UserTime() + program.ProcessState.SystemTime()
	}
	return max(1, float64(took)/float64(max(used, time.Millisecond)))
}

// killHome kills the processes whose home is a directory: all that a script there has started and that has not changed
// its environment.
func killHome(dir string) {
	killByEnvironment(func(text string) bool { return slices.Contains(strings.Split(text, "\x00"), "HOME="+dir) })
}

func killByEnvironment(isOurs func(text string) bool) {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && isOurs(string(text)) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// TestLimitEndsAll has a script go on for longer than its limit, with a process that has left its session and
// directory. TestMain fails if that is left.
func TestLimitEndsAll(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("needs setsid")
	}
	w := newModeWorld(t, "limit", bashPath)
	w.limit, w.grows = 50*time.Millisecond, true
	got, err := w.run(compatCase{script: "setsid sh -c 'cd /; exec sleep 1000' & sleep 1000"})
	if err != nil || got.exit != "hung" {
		t.Errorf("%+v, %v", got, err)
	}
}
