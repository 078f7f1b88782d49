//go:build unix

package compat_test

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/flock/internal/locks"
)

// needChecks tells how to check a need. A need that is not listed here is the name of a program that must be on PATH.
var needChecks = map[string]func() bool{
	"linux": func() bool { // without it: make test-portable
		return runtime.GOOS == "linux" && exists("/proc/self/fdinfo")
	},
	"root": func() bool { return os.Geteuid() == 0 },
	"proc": func() bool { return exists("/proc/self/fdinfo") },
	"states": func() bool { // what stopped of prelude.sh asks
		return exists("/proc/self/status") || succeeds("ps", "-o", "stat=", "-p", strconv.Itoa(os.Getpid()))
	},
	"locks":   func() bool { return exists("/proc/locks") }, // and fdinfo shows locks
	"wchan":   func() bool { return exists("/proc/self/wchan") },
	"full":    func() bool { return exists("/dev/full") },
	"python3": func() bool { return pythonPath != "" },
	"reflock": func() bool { return referencePath != "" },
	"mount":   func() bool { return succeeds("unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt") },
	"uts":     func() bool { return succeeds("unshare", "--uts", "sh", "-c", "echo >/proc/sys/kernel/hostname") },
	"pidns":   func() bool { return succeeds("unshare", "-pf", "--mount-proc", "true") },
	"subset": func() bool { // Linux 5.8
		return succeeds("unshare", "-m", "mount", "-t", "proc", "-o", "subset=pid", "proc", "/proc")
	},
	"nokcmp":  canForbidKcmp,
	"sigenv":  func() bool { return succeeds("env", "--ignore-signal=PIPE", "--block-signal=USR1", "true") },
	"nice":    func() bool { return succeeds("sh", "-c", "[ $(nice) -le 13 ]") }, // 19 is the end, and nice(1) adds 5
	"timeout": func() bool { return succeeds(inSystemPath("timeout"), "10", "true") },
	"script":  func() bool { return succeeds("script", "-qec", "true", "/dev/null") }, // that of util-linux
	"ofd":     func() bool { return locks.HasRanges },
	"strace": func() bool {
		return exists("/proc/self/fdinfo") && succeeds("strace", "-f", "-o", "/dev/null", "true")
	},
	"dev-fd": func() bool { return exists("/dev/fd/0") }, // for >(...) in bash

	// flock finds its own program
	"own-path": func() bool { return runtime.GOOS != "linux" || exists("/proc/self/exe") },

	// names may be any bytes; on macOS they are UTF-8
	"byte-names": func() bool { return os.WriteFile(filepath.Join(workDir, "\xff"), nil, 0o666) == nil },

	"find-printf": func() bool { return succeeds("find", ".", "-prune", "-printf", "") },

	"realtime": func() bool { return succeeds(bashPath, "-c", "kill -l RTMIN") }, // the names of these signals
	"sh-c-n": func() bool { // what comes after -c can be an option, as dash and bash have it
		out, err := exec.Command("sh", "-c", "-n", "echo hi").Output()
		return err == nil && len(out) == 0
	},

	"rlimits": func() bool { return succeeds("sh", "-c", "ulimit -Sn 100 && ulimit -Hn 512") },
}

var needResults sync.Map

// unmetNeed returns the first need of a case that this machine does not meet, or "".
func unmetNeed(c compatCase) string {
	if need := missingHere(c); need != "" {
		return need
	}
	needs := c.needs
	if strings.HasPrefix(c.each, "RTM") {
		needs = append(slices.Clip(needs), "realtime")
	}
	for _, need := range needs {
		met, _ := needResults.LoadOrStore(need, sync.OnceValue(func() bool {
			if check, ok := needChecks[need]; ok {
				return check()
			}
			_, err := exec.LookPath(need)
			return err == nil
		}))
		if !met.(func() bool)() {
			return need
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func succeeds(name string, args ...string) bool {
	return exec.Command(name, args...).Run() == nil
}

func needStrace(t *testing.T) {
	t.Helper()
	if !succeeds("strace", "-f", "-o", "/dev/null", "true") {
		t.Skip("needs strace, and the permission to trace")
	}
}

// userName is the name of the user who runs the tests, or the number.
var userName = func() string {
	uid := strconv.Itoa(os.Geteuid())
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return uid
}()

// needPatterns lists words in a script that show that it needs something, and the needs that cover it. One of them is
// enough.
var needPatterns = []struct{ words, needs string }{
	{`/proc/|/proc\b`, "proc locks linux uts"},
	{`^#\w*> .*\broot\b`, "root"}, // $USER is the user who runs the tests
	{`--holders`, "proc locks lslocks fuser linux"},
	{`/proc/locks|grep lock|OFDLCK`, "locks"},
	{`/wchan`, "wchan"},
	{`\bcatches\b`, "proc"},
	{`\bstopped \$`, "states"},
	{`>\(`, "dev-fd"},
	{`^[^#\n]*(--limit|--kill-children) `, "own-path proc"},
	{`^[^#\n]*--replace `, "linux"},
	{`/dev/full`, "full"},
	{`(^|[^-\w])stat -`, "linux locks"},
	{`date [^|;)]*(-d|%N)`, "linux"},
	{`touch -[a-z]*d`, "linux"},
	{`-printf`, "find-printf"},
	{`\bsetsid\b`, "setsid"},
	{`(^|[^-\w])timeout (-|[0-9.])`, "timeout"},
	{`\bstrace\b`, "strace"},
	{`\bsetpriv\b`, "setpriv"},
	{`\bunshare\b|(^|[^-\w])mount `, "mount pidns uts"},
	{`\btaskset\b`, "taskset"},
	{`\blslocks\b`, "lslocks"},
	{`(^|[^-\w])fuser `, "fuser"},
	{`(^|[^-\w])script -`, "script"},
	{`\bpython3\b|\bpython_holds\b`, "python3"},
	{`\breflock\b|\brehold\b`, "reflock"},
	{`\bRTM(IN|AX)\b`, "realtime linux proc"},
	{`^[^#\n]*-c -n '`, "sh-c-n"},
	{`\benv --(ignore|default|block)-signal`, "sigenv"},
}

// TestCasesSayWhatTheyNeed finds cases that use something that only some systems have, and do not list it as a need:
// they would fail on the other systems.
func TestCasesSayWhatTheyNeed(t *testing.T) {
	all := slices.Clone(cases)
	for _, c := range readBeyond(t) {
		if _, native := c.output["native"]; !native {
			c.needs = append(c.needs, "proc") // every system shows the holders of a directory lock
		}
		all = append(all, c.compatCase)
	}
	for _, c := range all {
		for _, p := range needPatterns {
			found := regexp.MustCompile("(?m)" + p.words).FindString(c.script)
			met := slices.ContainsFunc(strings.Fields(p.needs),
				func(need string) bool { return slices.Contains(c.needs, need) })
			if found != "" && !met {
				t.Errorf("%s.sh: %s: %q without one of these needs: %s", c.file, c.name, found, p.needs)
			}
		}
	}
}

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

// started has the locks of cases, by their names: one that counts the processes of a user runs in one mode at a time.
var started sync.Map

func startInTime(t *testing.T, c compatCase) {
	t.Helper()
	mu, _ := started.LoadOrStore(c.name, new(sync.Mutex))
	mu.(*sync.Mutex).Lock()
	t.Cleanup(mu.(*sync.Mutex).Unlock)
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

// TestTargetsHaveTimeouts finds tests in the Makefiles with the limit of go test, ten minutes, which is too short on a
// busy machine.
func TestTargetsHaveTimeouts(t *testing.T) {
	for name, text := range makefiles(t) {
		text = strings.ReplaceAll(text, "\\\n", "")
		for _, run := range regexp.MustCompile(`go test [^;&|\n]*`).FindAllString(text, -1) {
			if !strings.Contains(run, "-timeout") && !strings.Contains(run, "-c ") && !strings.Contains(run, "'^$$'") &&
				!strings.HasPrefix(run, "go test prints") {
				t.Errorf("%s: no -timeout: %s", name, run)
			}
		}
	}
}
