//go:build amd64 || arm64

package compat_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// runCheck runs the check that make makes with a new release of Go, and returns the line that it prints.
func runCheck(program string) string {
	out, _ := exec.Command("sh", "../internal/early/check.sh", program, "0.0").CombinedOutput()
	return string(out)
}

// TestCheck checks the program. It passes.
func TestCheck(t *testing.T) {
	needEarlyRun(t)
	if said := runCheck(oursPath); said != "" {
		t.Error(said)
	}
}

// TestCheckMutants puts the faults of mutants.txt into our source that the check sees: each makes that one fail to which
// it belongs.
func TestCheckMutants(t *testing.T) {
	pattern := os.Getenv("FLOCK_MUTANTS")
	if pattern == "" {
		t.Skip("make mutants runs it")
	}
	needEarlyRun(t)
	for _, m := range readMutants(t) {
		isOther := strings.HasSuffix(m.file, ".s") && !strings.HasSuffix(m.file, "_"+runtime.GOARCH+".s")
		if matched, _ := path.Match(pattern, m.name); !matched || m.env != "check" || isOther {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			program := m.build(t)
			defer os.Remove(program)
			if said := runCheck(program); !strings.HasPrefix(said, "flock does not fit Go 0.0: "+m.found+": ") {
				t.Errorf("not seen: %q", said)
			}
		})
	}
}

// TestMakeChecks makes a small tree with our Makefile, a release of Go that doc/go.md does not know, and a program that
// gives each command the status 3.
func TestMakeChecks(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("needs make")
	}
	dir := t.TempDir()
	writeTree(t, dir, map[string]string{
		"go.mod": "module flock\n", "go.sum": "", "main.go": "", "doc/go.md": "| Go 0.0 | |\n",
		"packaging/version.sh": "#!/bin/sh\necho 1\n", "program": "#!/bin/sh\nexit 3\n",
		"Makefile": read(t, "../Makefile"), "internal/early/known.sh": read(t, "../internal/early/known.sh"),
		"internal/early/check.sh": read(t, "../internal/early/check.sh"),
	})
	isThere := func() bool {
		_, err := os.Stat(filepath.Join(dir, "flock"))
		return err == nil
	}
	runMake := func(more ...string) (string, error) {
		words := []string{"-C", dir, "flock", "GOBUILD=cp program flock; :", "FORCE=", "PLAIN="}
		out, err := exec.Command("make", append(words, more...)...).CombinedOutput()
		return string(out), err
	}
	out, err := runMake()
	for _, want := range []string{": status: env flock f ", "'make PLAIN=1'", "'make FORCE=1'", "see doc/go.md\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in:\n%s", want, out)
		}
	}
	if err == nil || isThere() {
		t.Errorf("%v; the program is there: %v", err, isThere())
	}
	// Each builds what the one before it has not built. riscv64 runs nowhere here.
	for _, variable := range []string{"FORCE=1", "PLAIN=1", "GOARCH=riscv64"} {
		out, err := runMake(variable)
		if isBuilt := strings.Contains(out, "\ncp program"); err != nil || !isBuilt || !isThere() {
			t.Errorf("%s: %v; the program is there: %v\n%s", variable, err, isThere(), out)
		}
	}
	os.Remove(filepath.Join(dir, "flock"))
	release := strings.SplitN(runtime.Version(), ".", 3)
	writeTree(t, dir, map[string]string{
		"doc/go.md": "| " + strings.Replace(release[0], "go", "Go ", 1) + "." + release[1] + " | |\n"})
	if out, err := runMake(); err != nil || !isThere() {
		t.Errorf("with a release that it knows: %v\n%s", err, out)
	}
}
