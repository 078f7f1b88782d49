//go:build unix

package compat_test

import (
	"fmt"
	"os/exec"
	"regexp"
	"sync"
	"testing"
)

// makeModeWorld makes a world for program, and the other programs that the cases may use.
func makeModeWorld(mode, program string) (*world, error) {
	links := map[string]string{"bash": bashPath}
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
	w, err := makeModeWorld(mode, program)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// runEachCase runs f for all cases that belong to a mode in this target and that this machine can run, beside those of
// the other modes.
func runEachCase(t *testing.T, table *tally, d depth, f func(t *testing.T, c compatCase)) {
	t.Parallel()
	for _, c := range cases {
		skip := func(reason string) {
			table.add(func() { table.skipped[reason] = append(table.skipped[reason], c.name) })
		}
		if reason := d.reasonNotToRun(c); reason != "" {
			skip(reason)
			continue
		}
		t.Run(c.file+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			startInTime(t, c)
			if need := unmetNeed(c); need != "" {
				skip("needs " + need)
				t.Skip("needs " + need)
			}
			f(t, c)
		})
	}
}

// compare compares one run with the recorded answer and counts the result.
func compare(t *testing.T, table *tally, c compatCase, want, got result) {
	d := diff(want, got)
	if want.flaw != "" {
		d = "    " + want.flaw + "\n"
	}
	if d != "" {
		table.add(func() { table.different++ })
		t.Errorf("different (cases/%s.sh)\n%s", c.file, d)
		return
	}
	table.add(func() { table.equal++ })
}

// TestTranscripts runs the installed util-linux: its answers must be those that are recorded.
func TestTranscripts(t *testing.T) {
	skipInCheck(t)
	if referencePath == "" {
		compared = "compared with the recorded answers only: no util-linux flock is installed"
		t.Skip("no util-linux flock is installed")
	}
	w := newModeWorld(t, "reference", referencePath)
	table := newTally("reference")
	later := "needs a later release than util-linux " + referenceRelease
	t.Cleanup(func() {
		compared = fmt.Sprintf("compared with util-linux %s (%s): %d cases; %d need a later release, "+
			"%d what this machine lacks", referenceRelease, referencePath, table.equal+table.different, len(table.skipped[later]),
			count(table.skipped)-len(table.skipped[later]))
	})
	runEachCase(t, table, depth{everyCase, everyCase}, func(t *testing.T, c compatCase) {
		if !releaseKnows(referenceRelease, c) {
			table.add(func() { table.skipped[later] = append(table.skipped[later], c.name) })
			t.Skip(later)
		}
		got, err := w.run(c)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, table, c, c.expected, got)
	})
}

// checkOurs runs cases under ours in the given world.
func checkOurs(t *testing.T, w *world, d depth, kernelLocks bool) {
	table := newTally(t.Name()[len("Test"):])
	there := referenceThere(t)
	runEachCase(t, table, d, func(t *testing.T, c compatCase) {
		if c.runtime != "" {
			table.add(func() { table.skipped[c.runtime] = append(table.skipped[c.runtime], c.name) })
			t.Skip("the Go runtime starts: " + c.runtime)
		}
		if c.kernel != "" && !kernelLocks {
			table.add(func() { table.kernel[c.kernel] = append(table.kernel[c.kernel], c.name) })
			t.Skip("needs kernel locks: " + c.kernel)
		}
		if !kernelLocks && (c.file == "openfile" || numberForms.MatchString(c.script)) && !numbersInDirectory() {
			const reason = "on this system a descriptor has no directory lock"
			table.add(func() { table.skipped[reason] = append(table.skipped[reason], c.name) })
			t.Skip(reason)
		}
		check(t, table, w, there, c)
	})
}

// numberForms finds scripts that lock a descriptor: they open one, or their standard input and output are locked.
var numberForms = regexp.MustCompile(`(?m)(^|[\s({;"'])([3-9]|10|\{fd\})(<|>)[^&]|--fd\b|` +
	`\bflock ((-\S+|[\d.]+) )*([0-9]|10)( *($|[;&|)])| +[<>])`)

// numbersInDirectory reports whether the open file of a descriptor can have a directory lock on this system.
var numbersInDirectory = sync.OnceValue(func() bool {
	try := exec.Command("sh", "-c", `"$0" --backend directory 9 9>numbers`, oursPath)
	try.Dir = workDir
	return try.Run() == nil
})

// check runs a case under ours. On another kernel than Linux the answer of util-linux there counts, too.
func check(t *testing.T, table *tally, w, there *world, c compatCase) {
	got, err := w.run(c)
	if err != nil {
		t.Fatal(err)
	}
	want := c.expected
	if got != want && there != nil && releaseKnows(referenceRelease, c) {
		if want, err = there.run(c); err != nil {
			t.Fatal(err)
		}
		if got == want {
			table.add(func() { table.alike = append(table.alike, c.name) })
			return
		}
	}
	if c.differs == "" || want.flaw != "" {
		compare(t, table, c, want, got)
		return
	}
	if got == want {
		t.Errorf("an intended difference (%s), but there is none", c.differs)
	}
	if want = c.intended; want != got {
		compare(t, table, c, want, got)
		return
	}
	table.add(func() { table.intended = append(table.intended, c.name) })
}

func needOurs(t *testing.T) {
	if oursPath == "" {
		t.Fatal("cannot build the flock to be tested: ", oursMissing)
	}
}

// message matches what flock itself prints. It needs the Go runtime for that.
var message = regexp.MustCompile(`(?m)^[^ \n]*: (.*getting lock took|executing|failed to|.*timeout while|cannot|` +
	`invalid|unrecognized|option|not enough|missing|write error|flock: )|^flock: |^Usage:|from util-linux`)

// startsRuntime says why flock starts the Go runtime in a case, or "".
func startsRuntime(c compatCase) string {
	for _, answer := range []result{c.expected, c.intended} {
		if message.MatchString(answer.stdout) || message.MatchString(answer.stderr) {
			return "flock prints a message"
		}
	}
	return c.starts
}

// TestNative runs all cases in the program as it is on every system. With FLOCK_BACKEND set nothing is done before the
// Go runtime starts: that is what TestEarly tests. In make check it runs what TestEarly does not.
func TestNative(t *testing.T) {
	needOurs(t)
	w := newModeWorld(t, "native", oursPath)
	w.env = []string{"FLOCK_BACKEND=auto"}
	d := depth{check: everyCase, test: everyCase}
	if hasEarlyRun() {
		d.check = func(c compatCase) bool { return startsRuntime(c) != "" }
	}
	checkOurs(t, w, d, true)
}

func needDirectoryLock(t *testing.T) {
	needOurs(t)
	try := exec.Command(oursPath, "--backend", "directory", "f", "true")
	try.Dir = t.TempDir()
	if out, err := try.CombinedOutput(); err != nil {
		t.Skipf("no directory lock: %s%v", out, err)
	}
}

// busyLine is what ours prints to standard error if another flock has been taking or releasing a directory lock for a
// second, or has not quite ended yet. On a busy machine that happens.
const busyLine = `waiting: held by process [0-9]+(, which is taking or releasing it|; process .*)\n`

// directoryLines are what ours prints to standard error if it does not use flock(2): with --verbose the backend, and
// who holds a directory lock; and who waits for a second, and cannot tell just then whether a holder has the open file.
var directoryLines = regexp.MustCompile(
	`(?m)^[^ \n]+: (using the directory lock|(waiting: )?held by (a )?process) .*\n`)

// TestDirectory runs the same scripts with the directory lock: wherever a lock is taken, a file opened or a process
// started, but not those about the command line and the wording of messages.
func TestDirectory(t *testing.T) {
	needDirectoryLock(t)
	w := newModeWorld(t, "directory", oursPath)
	w.env = []string{"FLOCK_BACKEND=directory", "NO_KERNEL_LOCKS=1"}
	w.drop = directoryLines
	checkOurs(t, w, depth{check: inFiles("locks", "fd"), test: differsByLock}, false)
}

// TestDirectoryWithoutKcmp runs those scripts with the directory lock in which it matters who has the open file, where
// kcmp(2) is forbidden.
func TestDirectoryWithoutKcmp(t *testing.T) {
	skipInCheck(t)
	if !canForbidKcmp() {
		t.Skip("kcmp(2) cannot be forbidden here")
	}
	needDirectoryLock(t)
	w := newModeWorld(t, "without-kcmp", oursPath)
	w.under = []string{selfPath(t), "without-kcmp"}
	w.env = []string{"FLOCK_BACKEND=directory", "NO_KERNEL_LOCKS=1"}
	w.drop = directoryLines
	checkOurs(t, w, depth{test: inFiles("openfile")}, false)
}

// TestAbsent runs the same scripts where the kernel has no locks, and FLOCK_BACKEND is not set. What differs from
// TestDirectory is how the directory lock comes to be chosen: the run without the Go runtime opens the file, is refused
// and leaves no trace, and then the ordinary one is refused. So make test runs the scripts about the forms of the
// command line and about opening; make long runs all.
func TestAbsent(t *testing.T) {
	skipInCheck(t)
	if !canHideLocks {
		t.Skip("system calls cannot be filtered here")
	}
	needDirectoryLock(t)
	w := newModeWorld(t, "absent", oursPath)
	w.under = []string{selfPath(t), "without-kernel-locks"}
	w.env = []string{"NO_KERNEL_LOCKS=1"}
	w.drop = directoryLines
	checkOurs(t, w, depth{test: inFiles("early", "fd", "forms", "opening")}, false)
}
