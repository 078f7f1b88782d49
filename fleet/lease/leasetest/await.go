//go:build linux

package leasetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pause is that between two looks whether something has happened. Limits count these: on a busy machine each, with its
// look, takes longer.
const pause = 10 * time.Millisecond

// Await waits for a condition, and fails the test when it does not come true.
func Await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for range (30*time.Second + Allowance) / pause {
		if condition() {
			return
		}
		time.Sleep(pause)
	}
	t.Fatalf("waited in vain: %s", what)
}

// AwaitCount waits until a number is n, for as long as it changes: the more load there is, the longer that may take. A
// number below zero is not known now.
func AwaitCount(t *testing.T, what string, n int, count func() int) {
	t.Helper()
	for now := -1; now != n; {
		before := now
		Await(t, fmt.Sprintf("%d %s, of which there are %d", n, what, now), func() bool {
			if c := count(); c >= 0 {
				now = c
			}
			return now != before
		})
	}
}

// AwaitEnds waits for the ends of all, for as long as one after the other ends.
func AwaitEnds(t *testing.T, all []*Child) {
	t.Helper()
	AwaitCount(t, "ends of processes", len(all), func() (n int) {
		for _, c := range all {
			if c.HasEnded() {
				n++
			}
		}
		return n
	})
}

// Read returns the text of a file, or none if there is no such file.
func Read(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// Children returns the process ids of the children of a process.
func Children(pid int) (list []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		for _, word := range strings.Fields(Read(task)) {
			if pid, err := strconv.Atoi(word); err == nil {
				list = append(list, pid)
			}
		}
	}
	return list
}

// GuardOf returns the process id of the guard of a contender: its only child.
func GuardOf(t *testing.T, pid int) int {
	t.Helper()
	list := Children(pid)
	if len(list) != 1 {
		t.Fatalf("process %d has %d children", pid, len(list))
	}
	return list[0]
}

// LockName returns a name of a lock, made of that of the test.
func LockName(t *testing.T) string {
	return strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())
}
