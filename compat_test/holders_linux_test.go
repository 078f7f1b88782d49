package compat_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestHolders32Bit runs the cases about waiters for open file description locks with a program of 32 bits, in which
// these locks are another system call.
func TestHolders32Bit(t *testing.T) {
	t.Parallel()
	skipInCheck(t)
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" || os.Getenv("FLOCK_UNDER_TEST") != "" {
		t.Skip("builds and runs a program for linux/386")
	}
	program := filepath.Join(t.TempDir(), "flock386")
	build := exec.Command("go", "build", "-trimpath", "-o", program)
	build.Dir = ".."
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH=386")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !succeeds(program, "--version") {
		t.Skip("this kernel runs no program for linux/386")
	}
	w := newModeWorld(t, "beyond-386", program)
	w.env = []string{"LOCKS=native"}
	for _, c := range readBeyond(t) {
		if !strings.HasPrefix(c.name, "holders-fcntl") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if need := unmetNeed(c.compatCase); need != "" {
				t.Skip("needs " + need)
			}
			got, err := w.run(c.compatCase)
			if err != nil {
				t.Fatal(err)
			}
			checkBeyond(t, c, c.output["native"], got)
		})
	}
}
