package compat_test

import (
	"os"
	"os/exec"
	"testing"
)

// TestGuardUnderXNU runs a command with a limit where nobody may ask for the dispositions of SIGKILL and SIGSTOP.
func TestGuardUnderXNU(t *testing.T) {
	needOurs(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "signals-of-xnu", oursPath, "--limit", "60", "f", "echo", "in")
	c.Dir = t.TempDir()
	if out, err := c.CombinedOutput(); err != nil || string(out) != "in\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
