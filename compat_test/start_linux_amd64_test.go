package compat_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

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
