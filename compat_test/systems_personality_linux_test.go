package compat_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A personality is Linux with some answers of another kernel, and flock as it is built for that, from the files of that
// system: see systems_overlay_linux_test.go. The answers come from a filter for system calls where they depend on the call and
// its first arguments only, and otherwise from imitations, which are laid into the program. README.md gives their
// sources.
type personality struct {
	name   string
	system string // as Go calls it
	// imitates are names of files in imitations/, without their suffixes.
	imitates string
	// filter is the name of one of filters, or empty.
	filter string
	// files are patterns for the files of cases that can differ, as beyond/permits*; core are those that .ci/run runs.
	files, core string
	// mends are the cases that fail if flock does not know the answers. mutants.txt says how.
	mends string
	// directory are patterns for the cases of beyond/ in which the directory lock has the permit, or the place in the
	// queue.
	directory string
	// lacks is what harness_needs_test.go says the systems lack.
	lacks string
	// cannot lists the cases that the imitation cannot judge.
	cannot []difference
	// onlyDirectory: all locks are directory locks.
	onlyDirectory bool
	// tests are packages and a pattern for their tests, which are run with the same files; empty: none.
	tests [2]string
}

// Those in which locks can differ.
const (
	lockFiles = "cases/locks cases/fd cases/forms cases/openfile cases/ranges cases/scripts " +
		"beyond/permits* beyond/queue beyond/limit beyond/remove* beyond/cooldown* beyond/recipes"
	coreLockFiles = "cases/locks beyond/permits beyond/permits-refused"
)

// The imitations of macOS.
const (
	xnuLocks = "locks/flock locks/xnu "
	xnuRest  = "sys/listing fallback/untold fallback/machine_xnu guard/dead"
)

// directoryTests are those of the directory lock.
var directoryTests = [2]string{"../fallback",
	"TestReleaseRings|TestEndIsLookedFor|TestHandOver|TestKilledAtEveryStep|TestTorture"}

var personalities = []personality{
	{
		name:     "xnu-signals",
		system:   "darwin",
		imitates: xnuLocks + xnuRest,
		filter:   "sigaction-of-KILL-refused",
		files:    "cases/signals cases/process beyond/limit",
		core:     "beyond/limit",
		mends:    "limit-is-reached ALRM-of-another-does-not-end-the-wait-of-w",
		cannot:   []difference{{"a filter leaves the set-user-id bit without effect", "limit-process-of-another-user"}},
	},
	{
		name:      "xnu-locks",
		system:    "darwin",
		imitates:  xnuLocks + xnuRest,
		files:     lockFiles,
		core:      coreLockFiles,
		mends:     "permits-converted-to-exclusive-and-back permits-of-a-descriptor-with-the-whole-lock cooldown-huge",
		directory: "queue-*",
		cannot:    []difference{queueOfNumber, {"permits wait for shared locks", "permits-a-plain-lock-keeps-the-file"}},
	},
	{
		name:      "xnu-network",
		system:    "darwin",
		imitates:  "locks/flock locks/xnu_network " + xnuRest,
		files:     lockFiles,
		core:      coreLockFiles,
		mends:     "permits-exclusive-keeps-them-out",
		directory: "permits-* queue-*",
		lacks:     "ofd",
		cannot:    []difference{queueOfNumber},
	},
	{
		name:      "illumos-locks",
		system:    "illumos",
		imitates:  "locks/flock locks/illumos fallback/untold",
		files:     lockFiles,
		core:      coreLockFiles,
		mends:     "permits-exclusive-keeps-them-out two-that-upgrade-with-w",
		directory: "permits-* queue-*",
		cannot:    []difference{queueOfNumber, {"a range is refused there", rangeCases}},
		tests:     [2]string{"../internal/cli", "."},
	},
	{
		name:     "bsd-locks",
		system:   "freebsd",
		imitates: "locks/flock locks/bsd fallback/freebsd",
		files:    lockFiles,
		core:     coreLockFiles,
		mends: "permits-that-fail-leave-the-descriptor-no-lock two-that-upgrade-with-w permits-removed-with-their-state " +
			"permits-a-plain-lock-keeps-the-file permits-removed-beside-plain-locks-and-never-two",
		directory: "permits-* queue-*",
		lacks:     "ofd",
		cannot:    []difference{queueOfNumber},
		tests:     [2]string{"../internal/guard ../internal/cli", "."},
	},
	{
		name:     "freebsd-network",
		system:   "freebsd",
		imitates: "locks/flock locks/freebsd_network fallback/freebsd",
		tests:    [2]string{"../internal/locks", "."}, // and no cases: many lock what is open for reading only
	},
	{
		name:          "xnu-directory",
		system:        "darwin",
		imitates:      xnuLocks + xnuRest,
		files:         lockFiles + " beyond/restart beyond/holders-directory",
		core:          "cases/locks beyond/restart beyond/holders-directory",
		mends:         "holders-of-many-names restart-frees-a-lock restart-frees-a-place",
		onlyDirectory: true,
		tests:         directoryTests,
	},
	{
		name:          "bsd-directory",
		system:        "freebsd",
		imitates:      "locks/flock locks/bsd fallback/freebsd",
		files:         lockFiles + " beyond/restart beyond/holders-directory",
		core:          "beyond/restart",
		mends:         "killed-on-a-machine-without-a-name",
		onlyDirectory: true,
		tests:         directoryTests,
	},
}

// queueOfNumber lists cases in which a descriptor has a place in a queue without a byte lock, which is refused there.
var queueOfNumber = difference{"only Linux has a directory lock of a descriptor", "queue-of-a-removed-file"}

// rangeCases are those in ranges.sh that lock a range.
const rangeCases = "new-start-* new-suffix-* new-range-* fcntl-start-* fcntl-length-* fcntl-suffixes fcntl-range-* " +
	"new-length-* new-fcntl-unlock-part"

// noOtherKernel lists what no imitation has, because it is about this kernel.
var noOtherKernel = []string{"linux", "locks", "proc", "wchan", "lslocks", "fuser", "strace"}

// notImitated finds scripts in which another program locks: only ours is built with the answers of a tag.
var notImitated = map[string]string{"reflock": "another program locks", "python3": "another program locks"}

// personalityCases says which cases of the personalities are run: core or all.
var personalityCases = os.Getenv("FLOCK_TEST_KERNELS")

// TestPersonalities runs the cases that can differ on other kernels where these kernels' answers are put into this one.
func TestPersonalities(t *testing.T) {
	if personalityCases == "" {
		t.Skip("make test-kernels runs it")
	}
	needOurs(t)
	beyond := readBeyond(t)
	for _, p := range personalities {
		t.Run(p.name, func(t *testing.T) { p.run(t, beyond) })
	}
}

// TestImitationsAreVetted runs go vet over the programs of the personalities.
func TestImitationsAreVetted(t *testing.T) {
	if personalityCases == "" {
		t.Skip("make test-kernels runs it")
	}
	seen := map[string]bool{}
	for _, p := range personalities {
		if seen[p.imitates] {
			continue
		}
		seen[p.imitates] = true
		vet := exec.Command("go", "vet", "-tags", "flock_linkname", "-overlay", p.overlay(t, nil), ".", "./fallback/...",
			"./internal/...")
		vet.Dir = ".."
		if out, err := vet.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", p.name, err, out)
		}
	}
}

func (p *personality) run(t *testing.T, beyond []beyondCase) {
	program := p.build(t, filepath.Join(workDir, "flock-"+p.name), nil)
	plain, own := p.worlds(t, program)
	table := newTally(p.name)
	t.Parallel()
	for _, m := range readMutants(t) { // first: a test that waits in vain takes longest
		if m.personality() == p.name {
			p.runMutant(t, m, beyond)
		}
	}
	for _, c := range cases {
		if c.runtime == "" {
			p.runCase(t, table, c, "cases", func(t *testing.T) { check(t, table, plain, nil, c) })
		}
	}
	for _, c := range beyond {
		if _, hasOutput := p.expected(c); hasOutput {
			p.runCase(t, table, c.compatCase, "beyond", func(t *testing.T) {
				got, err := own.run(c.compatCase)
				if err != nil {
					t.Fatal(err)
				}
				want, _ := p.expected(c)
				isEqual := checkBeyond(t, c, want, got)
				table.add(func() {
					if isEqual {
						table.equal++
					} else {
						table.different++
					}
				})
			})
		}
	}
	if p.tests[0] != "" {
		t.Run("tests", p.runTests)
	}
}

// runMutant puts a fault into our source: the case that belongs to it must see it.
func (p *personality) runMutant(t *testing.T, m mutant, beyond []beyondCase) {
	t.Run("without/"+m.name, func(t *testing.T) {
		t.Parallel()
		if strings.HasPrefix(m.found, "Test") {
			if out, err := p.goTest(t, &m, "^"+m.found+"$").CombinedOutput(); err == nil ||
				!strings.Contains(string(out), m.found) {
				t.Errorf("the test %s does not see the fault: %v\n%s", m.found, err, out)
			}
			return
		}
		if !matches(p.mends, m.found) {
			t.Errorf("%s is not among the mends", m.found)
		}
		program := p.build(t, filepath.Join(workDir, "mutant-"+m.name), &m)
		defer os.Remove(program)
		plain, own := p.worlds(t, program)
		plain.shorten()
		own.shorten()
		seen, found := false, false
		for _, c := range cases {
			for n := 0; n < 3 && c.name == m.found && !seen; n++ { // load can hide a fault
				got, err := plain.run(c)
				seen, found = err == nil && got != c.expected, true
			}
		}
		for _, c := range beyond {
			for n := 0; n < 3 && c.name == m.found && !seen; n++ {
				got, err := own.run(c.compatCase)
				want, _ := p.expected(c)
				seen, found = err == nil && jobNotice.ReplaceAllString(got.stdout, "") != want, true
			}
		}
		if !found || !seen {
			t.Errorf("the case %s is there: %v; it sees the fault: %v", m.found, found, seen)
		}
	})
}

// runTests runs tests of a package with the files of the personality.
func (p *personality) runTests(t *testing.T) {
	t.Parallel()
	if out, err := p.goTest(t, nil, p.tests[1]).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// goTest returns the command that runs tests of its package. A test that waits in vain ends soon.
func (p *personality) goTest(t *testing.T, m *mutant, pattern string) *exec.Cmd {
	t.Helper()
	limit := time.Minute
	if m != nil {
		limit = 10 * time.Second
	}
	timeout := time.Duration(float64(limit) * loadNow()).Round(time.Second)
	return exec.Command("go", append([]string{"test", "-count=1", "-short", "-timeout", timeout.String(),
		"-overlay", p.overlay(t, m), "-run", pattern}, strings.Fields(p.tests[0])...)...)
}

// runCase runs a case of a file in a directory if the personality runs it and can judge it.
func (p *personality) runCase(t *testing.T, table *tally, c compatCase, dir string, run func(t *testing.T)) {
	files := p.files
	if personalityCases == "core" {
		files = p.core
	}
	if !matches(files, dir+"/"+c.file) && !matches(p.mends, c.name) {
		return
	}
	t.Run(c.file+"/"+c.name, func(t *testing.T) {
		t.Parallel()
		if reason := p.cannotJudge(c, dir == "beyond"); reason != "" {
			table.add(func() { table.skipped[reason] = append(table.skipped[reason], c.name) })
			if matches(p.mends, c.name) {
				t.Errorf("not judged: %s", reason)
			}
			t.Skip(reason)
		}
		run(t)
	})
}

// cannotJudge returns why the personality cannot judge a case, or "".
func (p *personality) cannotJudge(c compatCase, isBeyond bool) string {
	if reason := needIn(p.cannot, c.name); reason != "" {
		return reason
	}
	if need := unmetNeed(c); need != "" {
		return "needs " + need
	}
	if p.onlyDirectory && c.kernel != "" {
		return "needs kernel locks: " + c.kernel
	}
	usesDirectory := p.onlyDirectory || isBeyond && matches(p.directory, c.name)
	if usesDirectory && !matches(p.mends, c.name) && (c.file == "openfile" || numberForms.MatchString(c.script)) {
		return "on these systems a descriptor has no directory lock"
	}
	for _, need := range c.needs {
		if slices.Contains(noOtherKernel, need) || matches(p.lacks, need) {
			return "needs " + need
		}
		if reason := notImitated[need]; reason != "" {
			return reason
		}
	}
	return ""
}

// expected returns the output that is expected of a case of beyond/, if there is one.
func (p *personality) expected(c beyondCase) (output string, ok bool) {
	if p.onlyDirectory {
		output, ok = c.output["directory"]
		return output, ok
	}
	output, ok = c.output["native"]
	if half, found := c.output["half"]; ok && found && matches(p.directory, c.name) {
		return half, true
	}
	return output, ok
}

// worlds returns the worlds for the cases in cases/ and for those in beyond/.
func (p *personality) worlds(t *testing.T, program string) (plain, own *world) {
	name := filepath.Base(program)
	plain = newModeWorld(t, "world-"+name, program)
	own = newWorldWithSelf(t, "beyond-"+name, program)
	if p.onlyDirectory {
		plain.env, plain.drop = append(plain.env, "FLOCK_BACKEND=directory"), directoryLines
		own.env = append(own.env, "FLOCK_BACKEND=directory", "LOCKS=directory")
	} else {
		own.env = append(own.env, "LOCKS=native")
	}
	for _, w := range []*world{plain, own} {
		if p.filter != "" {
			w.under = []string{filepath.Join(own.dir, "self"), p.filter}
		}
		w.limit, w.grows = 20*time.Second, true
		w.env = append(w.env, "NO_KERNEL_LOCKS=1") // the kernel does not see who waits for what an imitation makes
	}
	return plain, own
}

// building lets one program be built at a time: the compiler needs memory, and uses all cores by itself.
var building sync.Mutex

// build builds ours for the personality and, unless m is nil, with a fault; with the entry point of other systems, for
// which the Go runtime always starts.
func (p *personality) build(t *testing.T, path string, m *mutant) string {
	t.Helper()
	overlay := p.overlay(t, m)
	building.Lock()
	out, err := goBuild(path, "-ldflags", linkFlags, "-overlay", overlay).CombinedOutput()
	building.Unlock()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range strings.Fields(p.imitates) {
		if !slices.ContainsFunc(imitations(t)[name], func(name string) bool { return isIn(t, path, "."+name) }) {
			t.Errorf("no function of the imitation %s is in the program", name)
		}
	}
	return path
}

var functionName = regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?(\w+)\(`)

// imitations returns for each imitation the names of its functions that are named so.
func imitations(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	paths, err := filepath.Glob(filepath.Join(imitationsDir, "*", "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no imitations: ", err)
	}
	for _, path := range paths {
		text := read(t, path)
		name := strings.TrimSuffix(strings.TrimPrefix(path, imitationsDir+"/"), ".go")
		if !strings.HasPrefix(text, "//go:build ignore\n") {
			t.Errorf("%s: the first line does not keep it from other builds", path)
		}
		for _, found := range functionName.FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(found[1], "imitate") {
				all[name] = append(all[name], found[1])
			} else if found[1] != "init" && found[1] != "askMachine" {
				t.Errorf("%s: the function %s is not named imitate...", path, found[1])
			}
		}
	}
	return all
}

// isIn reports whether a program contains a text.
func isIn(t *testing.T, program, text string) bool {
	return strings.Contains(read(t, program), text)
}

// TestNoImitationIsShipped reads the program: it has no function of a personality.
func TestNoImitationIsShipped(t *testing.T) {
	needOurs(t)
	if !isIn(t, oursPath, ".flockCall") {
		t.Fatal("the program does not show the names of its functions")
	}
	if isIn(t, oursPath, ".imitate") {
		t.Error("a function of a personality is in the program")
	}
	imitations(t) // says what is wrong with the files
}

// matches reports whether one of some patterns, separated by blanks, is that of a name.
func matches(patterns, name string) bool { return needIn([]difference{{"x", patterns}}, name) != "" }
