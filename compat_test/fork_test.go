//go:build linux && (amd64 || arm64)

package compat_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestForkRefused runs flock where no child can be created: flock reports "fork failed", not "failed to execute". With
// --no-fork it needs no child and succeeds.
func TestForkRefused(t *testing.T) {
	needOurs(t)
	for _, program := range []string{oursPath, referencePath} {
		if program == "" {
			continue
		}
		t.Run(filepath.Dir(program), func(t *testing.T) {
			for filter, text := range map[string]string{
				"fork-says-EAGAIN": "Resource temporarily unavailable",
				"fork-says-ENOMEM": "Cannot allocate memory",
				"fork-says-EPERM":  "Operation not permitted",
			} {
				for _, backend := range []string{"", "directory"} {
					for option, want := range map[string]string{
						"-n": "flock: fork failed: " + text + "\n71",
						"-F": "in\n0",
					} {
						c := exec.Command(selfPath(t), filter, program, option, "f", "echo", "in")
						c.Dir = t.TempDir()
						c.Env = append(os.Environ(), "LC_ALL=C", "FLOCK_BACKEND="+backend)
						out, _ := c.CombinedOutput()
						if got := fmt.Sprintf("%s%d", out, c.ProcessState.ExitCode()); got != want {
							t.Errorf("%s, backend %q, %s:\n%s\nwant:\n%s", filter, backend, option, got, want)
						}
					}
				}
			}
		})
	}
}
