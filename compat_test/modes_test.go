//go:build unix

package compat_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"
)

// modeWorld is a world for program with everything that cases may find on their PATH beside it.
func modeWorld(mode, program string) (*world, error) {
	links := map[string]string{}
	if pythonPath != "" {
		links["python3"] = pythonPath
	}
	if referencePath != "" {
		links["reflock"] = referencePath
	}
	return newWorld(workDir, mode, program, links)
}

func newModeWorld(t *testing.T, mode, program string) *world {
	t.Helper()
	w, err := modeWorld(mode, program)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// eachCase runs f for all cases that this machine can run, several at a time.
func eachCase(t *testing.T, table *tally, f func(t *testing.T, c compatCase)) {
	t.Run("cases", func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				// what would be running when go test gives up would go on running
				if end, ok := t.Deadline(); ok && time.Until(end) < caseLimit+5*time.Second {
					t.Fatal("not run: too little is left of the time that go test -timeout gives")
				}
				if need := missing(c); need != "" {
					table.add(func() { table.skipped["needs "+need] = append(table.skipped["needs "+need], c.name) })
					t.Skip("needs " + need)
				}
				f(t, c)
			})
		}
	})
}

// compare judges one run against the transcript.
func compare(t *testing.T, table *tally, c compatCase, want, got result) {
	d := diff(want, got)
	if want.flaw != "" {
		d = "    " + want.flaw + "\n"
	}
	if d != "" {
		table.add(func() {
			table.different = append(table.different, c.name)
			table.diffs = append(table.diffs, fmt.Sprintf("%s (cases/%s.sh)\n%s", c.name, c.file, d))
		})
		t.Error("different; the table below shows how")
		return
	}
	table.add(func() { table.equal++ })
}

// TestTranscripts runs the installed reference live: it must say what its transcripts say.
func TestTranscripts(t *testing.T) {
	notInCheck(t)
	if referencePath == "" {
		t.Skip("no util-linux flock is installed")
	}
	w := newModeWorld(t, "reference", referencePath)
	table := newTally("reference")
	eachCase(t, table, func(t *testing.T, c compatCase) {
		if !referenceKnows(c) {
			reason := "util-linux " + referenceRelease + " does not know it"
			table.add(func() { table.skipped[reason] = append(table.skipped[reason], c.name) })
			t.Skip(reason)
		}
		got, err := w.run(c)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, table, c, expected[c.name], got)
	})
}

// checkOurs runs all cases under ours in the given world.
func checkOurs(t *testing.T, w *world, kernelLocks bool) {
	table := newTally(t.Name()[len("Test"):])
	early := hasEarlyRun()
	eachCase(t, table, func(t *testing.T, c compatCase) {
		if c.runtime != "" && !early {
			table.add(func() { table.skipped[c.runtime] = append(table.skipped[c.runtime], c.name) })
			t.Skip("this flock starts the Go runtime: " + c.runtime)
		}
		if c.kernel != "" && !kernelLocks {
			table.add(func() { table.kernel[c.kernel] = append(table.kernel[c.kernel], c.name) })
			t.Skip("needs kernel locks: " + c.kernel)
		}
		got, err := w.run(c)
		if err != nil {
			t.Fatal(err)
		}
		want := expected[c.name]
		if c.differs == "" {
			compare(t, table, c, want, got)
			return
		}
		if got == want {
			t.Errorf("said to differ (%s), but it does not", c.differs)
		}
		if want = intended[c.name]; want != got {
			compare(t, table, c, want, got)
			return
		}
		table.add(func() { table.intended = append(table.intended, c.name) })
	})
}

func needOurs(t *testing.T) {
	if oursPath == "" {
		t.Fatal("cannot build the flock to be tested: ", oursMissing)
	}
}

func TestNative(t *testing.T) {
	needOurs(t)
	checkOurs(t, newModeWorld(t, "native", oursPath), true)
}

func needDirectoryLock(t *testing.T) {
	needOurs(t)
	try := exec.Command(oursPath, "--backend", "directory", "f", "true")
	try.Dir = t.TempDir()
	if out, err := try.CombinedOutput(); err != nil {
		t.Skipf("no directory lock: %s%v", out, err)
	}
}

// With --verbose, ours says on standard error which way of locking it took when that is not flock(2), and who holds a
// directory lock.
var directoryLines = regexp.MustCompile(`(?m)^[^ \n]+: (using the directory lock|held by process) .*\n`)

// TestDirectory runs the same scripts on the directory lock.
func TestDirectory(t *testing.T) {
	needDirectoryLock(t)
	w := newModeWorld(t, "directory", oursPath)
	w.env = []string{"FLOCK_BACKEND=directory", "NO_KERNEL_LOCKS=1"}
	w.drop = directoryLines
	checkOurs(t, w, false)
}

// TestAbsent runs the same scripts where the kernel has no locks, with nothing said about it in the environment.
func TestAbsent(t *testing.T) {
	notInCheck(t)
	if !canHideLocks {
		t.Skip("system calls cannot be filtered here")
	}
	needDirectoryLock(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := newModeWorld(t, "absent", oursPath)
	w.under = []string{self, "without-kernel-locks"}
	w.env = []string{"NO_KERNEL_LOCKS=1"}
	w.drop = directoryLines
	checkOurs(t, w, false)
}
