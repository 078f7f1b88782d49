//go:build unix

package compat_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// How much is tested depends on the target: make check is go test -short, make test is go test, and make long sets
// FLOCK_TEST_LONG, with which every case runs in every mode.
var (
	inCheck = testing.Short
	isLong  = os.Getenv("FLOCK_TEST_LONG") != "" || inTorture()
)

// inTorture reports whether make torture runs, which says in FLOCK_TORTURE for how long.
func inTorture() bool { return os.Getenv("FLOCK_TORTURE") != "" }

// skipInCheck skips a test in make check, because it takes long or finds little that the other tests do not find.
func skipInCheck(t *testing.T) {
	t.Helper()
	if inCheck() || asUser {
		t.Skip("not in make check, which is go test -short, nor in make test-user")
	}
}

// A caseSet reports whether a mode runs a case.
type caseSet func(c compatCase) bool

func inFiles(names ...string) caseSet {
	return func(c compatCase) bool { return slices.Contains(names, c.file) }
}

// A depth says which cases a mode runs in make check and in make test. In make long it runs all.
type depth struct{ check, test caseSet }

func everyCase(compatCase) bool { return true }

// differsByLock finds the cases whose answer the way of locking can change.
func differsByLock(c compatCase) bool { return c.alike == "" }

// reasonNotToRun says why this target does not run a case in a mode, or "".
func (d depth) reasonNotToRun(c compatCase) string {
	switch {
	case isLong:
		return ""
	case c.long != "":
		return "only in make long: " + c.long
	case asUser && !dependsOnUser(c):
		return "the answer does not depend on the user"
	case inCheck() && !d.check(c):
		return "not in make check"
	case !d.test(c):
		return "only in make long: the answer is that of another mode"
	}
	return ""
}

// asUser is set by make test-user: an ordinary user runs what depends on who runs it.
var asUser = os.Getenv("FLOCK_TEST_USER") != ""

// userWords finds scripts whose answer can depend on the user: permissions, other users, limits, and what /proc shows.
var userWords = regexp.MustCompile(`\b(chmod|chown|setpriv|umask|su|sudo|root|id|whoami|nice|renice|ulimit|limits|mount|unshare)\b|` +
	`\$USER|/proc/[^sl]|/root|/etc|/dev/|--holders`)

func dependsOnUser(c compatCase) bool {
	return userWords.MatchString(c.script) || slices.Contains(c.needs, "root")
}

// timeIsOver says once that go test -timeout is almost over. The processes of a case that ran then would not be killed,
// so no case begins shortly before; that is one failure, however many cases it is about.
var timeIsOver sync.Once

func startInTime(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() && os.Getenv("FLOCK_TEST_JUDGES") != "" {
			os.Exit(1) // one failure is enough
		}
	})
	end, ok := t.Deadline()
	if !ok || time.Until(end) >= caseLimit+5*time.Second {
		return
	}
	timeIsOver.Do(func() { t.Error("the time of go test -timeout is almost over: no more cases are run") })
	t.Skip("not run: the time of go test -timeout is almost over")
}

// TestRunSays has run.sh run scripts in the place of the tests. What they leave to be said is the last line, and is not
// said twice.
func TestRunSays(t *testing.T) {
	for script, want := range map[string]string{
		`echo ok; echo compared >"$FLOCK_TEST_SAID"`:      "ok\ncompared\n",
		`echo compared | tee "$FLOCK_TEST_SAID"; echo ok`: "compared\nok\n",
		`echo ok`: "ok\n",
	} {
		if out, err := exec.Command("sh", "run.sh", "sh", "-c", script).CombinedOutput(); string(out) != want || err != nil {
			t.Errorf("%s: %q, %v", script, out, err)
		}
	}
}

// TestTargetsHaveTimeouts finds tests in the Makefile with the limit of go test, ten minutes: it is too short on a busy
// machine.
func TestTargetsHaveTimeouts(t *testing.T) {
	text := strings.ReplaceAll(read(t, "../Makefile"), "\\\n", "")
	for _, run := range regexp.MustCompile(`go test [^;&|\n]*`).FindAllString(text, -1) {
		if !strings.Contains(run, "-timeout") && !strings.Contains(run, "-c ") && !strings.Contains(run, "'^$$'") &&
			!strings.HasPrefix(run, "go test prints") {
			t.Errorf("no -timeout: %s", run)
		}
	}
}
