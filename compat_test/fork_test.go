//go:build linux && (amd64 || arm64)

package compat_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestForkRefused runs flock where no child can be created: flock reports "fork failed", not "failed to execute". With
// --no-fork it needs no child and succeeds.
func TestForkRefused(t *testing.T) {
	needOurs(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{oursPath, referencePath} {
		if program == "" {
			continue
		}
		t.Run(filepath.Dir(program), func(t *testing.T) {
			for _, test := range []struct {
				backend, option, says string
				status                int
			}{
				{"", "-n", "flock: fork failed: Resource temporarily unavailable\n", 71},
				{"", "-F", "in\n", 0},
				{"directory", "-n", "flock: fork failed: Resource temporarily unavailable\n", 71},
				{"directory", "-F", "in\n", 0},
			} {
				c := exec.Command(self, "without-fork", program, test.option, "f", "echo", "in")
				c.Dir = t.TempDir()
				c.Env = append(os.Environ(), "LC_ALL=C", "FLOCK_BACKEND="+test.backend)
				out, _ := c.CombinedOutput()
				if status := c.ProcessState.ExitCode(); string(out) != test.says || status != test.status {
					t.Errorf("%s %s: status %d, %s", test.backend, test.option, status, out)
				}
			}
		})
	}
}
