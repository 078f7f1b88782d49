//go:build unix

package compat_test

import (
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
