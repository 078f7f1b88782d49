package compat_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A personality is Linux with some answers of another kernel, and flock as it is built for that. The answers come from
// a filter for system calls where they depend on the call and its first arguments only. Otherwise build tags compile
// them into the program: the tag imitate_NAME one file imitate_NAME_linux.go, in which each function is named
// imitate..., and which no other build has. README.md gives the sources of the answers.
type personality struct {
	name string
	tags string // separated by commas
	// filter is the name of one of filters, or empty.
	filter string
	// files are patterns for the files of cases that can differ, as beyond/permits*; core are those that .ci/run runs.
	files, core string
	// mends are the cases that fail if flock does not know the answers. mutants.txt says how.
	mends string
	// directory are patterns for the cases of beyond/ in which the directory lock has the permit, or the place in the
	// queue.
	directory string
	// lacks is what needs_test.go says the systems lack.
	lacks string
	// cannot lists the cases that the imitation cannot judge.
	cannot []difference
	// onlyDirectory: all locks are directory locks.
	onlyDirectory bool
	// tests is a pattern for tests of the package fallback, which are run with the same tags; empty: none.
	tests string
}

// Those in which locks can differ.
const (
	lockFiles = "cases/locks cases/fd cases/forms cases/openfile cases/ranges cases/scripts " +
		"beyond/permits* beyond/queue beyond/limit beyond/remove* beyond/cooldown* beyond/recipes"
	coreLockFiles = "cases/locks beyond/permits beyond/permits-refused"
)

var personalities = []personality{
	{
		name:   "xnu-signals",
		filter: "sigaction-of-KILL-refused",
		files:  "cases/signals cases/process beyond/limit",
		core:   "beyond/limit",
		mends:  "limit-is-reached",
		cannot: []difference{{"a filter leaves the set-user-id bit without effect", "limit-process-of-another-user"}},
	},
	{
		name:      "xnu-locks",
		tags:      "locks_portable,imitate_flock,imitate_xnu",
		files:     lockFiles,
		core:      coreLockFiles,
		mends:     "permits-converted-to-exclusive-and-back permits-of-a-descriptor-with-the-whole-lock",
		directory: "queue-*",
		cannot:    []difference{queueOfNumber},
	},
	{
		name:      "xnu-network",
		tags:      "locks_portable,imitate_flock,imitate_xnu_network",
		files:     lockFiles,
		core:      coreLockFiles,
		mends:     "permits-exclusive-keeps-them-out",
		directory: "permits-* queue-*",
		lacks:     "ofd",
		cannot:    []difference{queueOfNumber},
	},
	{
		name:      "illumos-locks",
		tags:      "locks_portable,imitate_flock,imitate_illumos",
		files:     lockFiles,
		core:      coreLockFiles,
		mends:     "permits-exclusive-keeps-them-out two-that-upgrade-with-w",
		directory: "permits-* queue-*",
		cannot:    []difference{queueOfNumber, {"a range is refused there", rangeCases}},
	},
	{
		name:      "bsd-locks",
		tags:      "locks_portable,imitate_flock,imitate_bsd",
		files:     lockFiles,
		core:      coreLockFiles,
		mends:     "permits-refused-leave-the-descriptor-no-lock two-that-upgrade-with-w",
		directory: "permits-* queue-*",
		lacks:     "ofd",
		cannot:    []difference{queueOfNumber},
	},
	{
		name:          "xnu-directory",
		tags:          "imitate_listing,imitate_untold,imitate_boot",
		files:         lockFiles + " beyond/restart beyond/holders-directory",
		core:          "cases/locks beyond/restart beyond/holders-directory",
		mends:         "holders-of-many-names restart-frees-a-lock restart-frees-a-place",
		onlyDirectory: true,
		tests:         "TestReleaseRings|TestEndIsAskedFor|TestKilledAtEveryStep|TestTorture",
	},
}

// queueOfNumber lists cases in which a descriptor has a place in a queue without a byte lock, which is refused there.
var queueOfNumber = difference{"only Linux has a directory lock of a descriptor", "queue-of-a-removed-file"}

// rangeCases are those in ranges.sh that lock a range.
const rangeCases = "new-start-* new-suffix-* new-range-* fcntl-start-* fcntl-length-* fcntl-suffixes fcntl-range-* " +
	"new-length-* new-fcntl-unlock-part"

// noOtherKernel lists what no imitation has, because it is about this kernel.
var noOtherKernel = []string{"linux", "locks", "wchan", "lslocks", "fuser", "strace"}

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

func (p *personality) run(t *testing.T, beyond []beyondCase) {
	program := p.build(t, filepath.Join(workDir, "flock-"+p.name))
	plain, own := p.worlds(t, program)
	table := newTally(p.name)
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
	if p.tests != "" {
		t.Run("tests", p.runTests)
	}
	for _, m := range readMutants(t) {
		if m.personality() == p.name {
			p.runMutant(t, m, beyond)
		}
	}
}

// runMutant puts a fault into our source: the case that belongs to it must see it.
func (p *personality) runMutant(t *testing.T, m mutant, beyond []beyondCase) {
	t.Run("without/"+m.name, func(t *testing.T) {
		t.Parallel()
		if !matches(p.mends, m.found) {
			t.Errorf("%s is not among the mends", m.found)
		}
		program := p.build(t, filepath.Join(workDir, "mutant-"+m.name), "-overlay", m.overlay(t))
		defer os.Remove(program)
		plain, own := p.worlds(t, program)
		plain.shorten()
		own.shorten()
		seen, found := false, false
		for _, c := range cases {
			if c.name == m.found {
				got, err := plain.run(c)
				seen, found = err == nil && got != expected[c.name], true
			}
		}
		for _, c := range beyond {
			if c.name == m.found {
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

// runTests runs tests of the package fallback with the tags of the personality.
func (p *personality) runTests(t *testing.T) {
	t.Parallel()
	test := exec.Command("go", "test", "-count=1", "-short", "-tags", p.tags, "-run", p.tests, "../fallback")
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
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
		if reason := p.cannotJudge(c); reason != "" {
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
func (p *personality) cannotJudge(c compatCase) string {
	if reason := needIn(p.cannot, c.name); reason != "" {
		return reason
	}
	if need := unmetNeed(c); need != "" {
		return "needs " + need
	}
	if p.onlyDirectory && c.kernel != "" {
		return "needs kernel locks: " + c.kernel
	}
	for _, need := range c.needs {
		if slices.Contains(noOtherKernel, need) || matches(p.lacks, need) {
			return "needs " + need
		}
		if reason := notImitated[need]; reason != "" && p.tags != "" {
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
		if p.tags != "" { // the kernel does not see who waits for what the tag makes
			w.env = append(w.env, "NO_KERNEL_LOCKS=1")
		}
	}
	return plain, own
}

// building lets one program be built at a time: the compiler needs memory, and uses all cores by itself.
var building sync.Mutex

// build builds ours with the tags, and with the entry point of other systems, for which the Go runtime always starts.
func (p *personality) build(t *testing.T, path string, more ...string) string {
	flags := append([]string{"-tags", "flock_linkname," + p.tags, "-ldflags", linkFlags}, more...)
	building.Lock()
	out, err := goBuild(path, flags...).CombinedOutput()
	building.Unlock()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for tag := range strings.SplitSeq(p.tags, ",") {
		if tag != "" && !strings.HasPrefix(tag, "imitate_") {
			continue
		}
		if !slices.ContainsFunc(imitations(t)[tag], func(name string) bool { return isIn(t, path, "."+name) }) {
			t.Errorf("no function of the tag %q is in the program", tag)
		}
	}
	return path
}

var functionName = regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?(\w+)\(`)

// imitations returns for each build tag of a personality the names of the functions which it compiles in; and for no
// tag a function that every build has.
func imitations(t *testing.T) map[string][]string {
	byTag := map[string][]string{"": {"flockCall"}}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		tag, isImitation := strings.CutSuffix(filepath.Base(path), "_linux.go")
		if err != nil || !isImitation || !strings.HasPrefix(tag, "imitate_") {
			return err
		}
		text, err := os.ReadFile(path)
		if !strings.HasPrefix(string(text), "//go:build "+tag+"\n") {
			t.Errorf("%s: the first line is not the build line of its tag", path)
		}
		if byTag[tag] != nil {
			t.Errorf("%s: there is another file of this tag", path)
		}
		for _, found := range functionName.FindAllStringSubmatch(string(text), -1) {
			byTag[tag] = append(byTag[tag], found[1])
			if name := found[1]; !strings.HasPrefix(name, "imitate") && name != "init" {
				t.Errorf("%s: the function %s is not named imitate...", path, name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return byTag
}

// isIn reports whether a program contains a text.
func isIn(t *testing.T, program, text string) bool {
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(content, []byte(text))
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
