//go:build unix

package compat_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
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

// countSleeps returns how often the first threads of a process and of its descendants have gone to sleep: each time
// they wake, they look at the lock. The Go runtime wakes a thread of its own then, too.
func countSleeps(pid int) (sum int) {
	sum, _ = strconv.Atoi(statusLine(pid, "voluntary_ctxt_switches"))
	for _, child := range children(pid) {
		sum += countSleeps(child)
	}
	return sum
}
