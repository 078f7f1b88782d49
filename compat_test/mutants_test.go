//go:build unix

package compat_test

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The names of the faults are read from the places that test for them: M("name") in standin.c, M name or a pattern in
// wrapper.sh.
var (
	mutantName  = regexp.MustCompile(`\bM\("([a-zA-Z0-9-]+)"\)`)
	wrapperName = regexp.MustCompile(`\bM ([a-z]+-[a-z0-9-]+)|^\t((?:holders|report)-[a-z-]+)\)`)
)

// A mutantKind is a program that can be built with a fault, and the cases that should see the fault.
type mutantKind struct {
	source string
	names  *regexp.Regexp
	build  func(t *testing.T, mutant string) string
	cases  []compatCase
	want   func(compatCase) result
	run    func(*world, compatCase) (result, error)
	quick  bool // with "first" a case runs until it sees a fault; else every fault must be seen, too
}

// newStandins returns the faults of standin.c, a C program that behaves like the reference.
func newStandins(t *testing.T) mutantKind {
	if !succeeds("cc", "--version") {
		t.Skip("needs a C compiler, cc")
	}
	return mutantKind{
		source: "mutants/standin.c", names: mutantName, build: buildStandin, cases: cases, quick: true,
		want: func(c compatCase) result { return expected[c.name] },
		run:  (*world).run,
	}
}

// newWrappers returns the faults of wrapper.sh, which runs ours with a fault in an option that the reference does not have.
func newWrappers(t *testing.T) mutantKind {
	needOurs(t)
	outputs := map[string]string{}
	k := mutantKind{source: "mutants/wrapper.sh", names: wrapperName, build: buildWrapper}
	for _, c := range readBeyond(t) {
		option, _, _ := strings.Cut(c.name, "-")
		isFaulty := slices.Contains([]string{"permits", "cooldown", "queue", "report", "holders", "remove"}, option)
		if want, ok := c.output["native"]; ok && isFaulty {
			k.cases = append(k.cases, c.compatCase)
			outputs[c.name] = want
		}
	}
	k.want = func(c compatCase) result { return result{stdout: outputs[c.name]} }
	k.run = func(w *world, c compatCase) (result, error) {
		got, err := w.run(c)
		r := result{stdout: jobNotice.ReplaceAllString(got.stdout, "")}
		if got.exit == "hung" {
			r.exit = got.exit
		}
		return r, err
	}
	return k
}

// buildWrapper writes a script that runs ours with one fault, or with none.
func buildWrapper(t *testing.T, mutant string) string {
	wrapper, err := filepath.Abs("mutants/wrapper.sh")
	path := filepath.Join(workDir, "wrapper-"+mutant)
	if err == nil {
		text := fmt.Sprintf("#!%s\nMUTANT=%s REAL=%s\n. %s\n", bashPath, mutant, oursPath, wrapper)
		err = os.WriteFile(path, []byte(text), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// mutants returns the names of the faults.
func (k mutantKind) mutants(t *testing.T) (names []string) {
	source, err := os.ReadFile(k.source)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(source)) {
		for _, m := range k.names.FindAllStringSubmatch(line, -1) {
			if name := strings.Join(m[1:], ""); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// newWorld makes a world whose flock has a fault. Many faults make a case wait until its limit, so the limits are short.
// They are the same without a fault.
func (k mutantKind) newWorld(t *testing.T, mutant string) *world {
	w := newModeWorld(t, filepath.Base(k.source)+"-"+mutant, k.build(t, mutant))
	t.Cleanup(func() { os.RemoveAll(w.dir) })
	w.limit = 8 * time.Second
	w.env = []string{"AWAIT_TRIES=150", "LOCKS=native"}
	return w
}

// buildStandin compiles the stand-in with one fault, or with none.
func buildStandin(t *testing.T, mutant string) string {
	path := filepath.Join(workDir, "standin-"+mutant)
	out, err := exec.Command("cc", "-w", "-O1", "-o", path, fmt.Sprintf("-DMUTANT=%q", mutant), "mutants/standin.c", "-lm").CombinedOutput()
	if err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	return path
}

// TestMutants shows that the cases can fail: each case must pass without a fault, and fail with at least one fault. That
// takes many minutes. FLOCK_MUTANTS (make mutants) selects how much it does: with "first" it stops running a case after the
// first fault that the case sees; with "all" it runs every case with every fault, and every fault must be seen. Any other
// value is a pattern for path.Match that selects faults by name.
func TestMutants(t *testing.T) {
	mode := os.Getenv("FLOCK_MUTANTS")
	if mode == "" {
		t.Skip("takes many minutes: make mutants; TestSomeMutants is a sample")
	}
	t.Run("standin", func(t *testing.T) { newStandins(t).test(t, mode) })
	t.Run("ours", func(t *testing.T) { newWrappers(t).test(t, mode) })
}

// TestSomeMutants is a sample: the case beside each of these faults sees it.
func TestSomeMutants(t *testing.T) {
	t.Parallel()
	skipInCheck(t)
	pairs := map[string]string{
		// of standin.c
		"always-exits-0":      "status-1",
		"always-closes":       "lowest-free-number-is-3",
		"conflict-is-0":       "cluster-conflict",
		"drops-environment":   "environment-arrives",
		"errors-to-stdout":    "missing-directory",
		"exclusive-is-shared": "exclusive-excludes-exclusive",
		"exec-fails-with-127": "not-found",
		"ignores-E":           "E-0",
		"ignores-o":           "killed-by-KILL-under-close-frees-the-lock",
		"mode-600":            "mode-under-umask-022",
		"never-locks":         "shared-excludes-exclusive",
		"never-waits":         "waits-for-exclusive",
		"nicer":               "nice-arrives",
		"resets-ignored":      "signals-ignored-arrive",
		"shared-is-exclusive": "shared-admits-shared",
		"truncates":           "content-kept",
		"w-early":             "w-is-not-early",
		// of wrapper.sh
		"cooldown-ignored":        "cooldown-at-most-once",
		"cooldown-for-everybody":  "cooldown-without-it-nobody-sets-it",
		"cooldown-never-waits":    "cooldown-waits-for-its-end",
		"holders-nobody":          "holders-exclusive",
		"holders-without-waiters": "holders-waiting",
		"holders-makes-the-file":  "holders-missing-file",
		"permits-one-more":        "permits-so-many-and-no-more",
		"permits-exclusive":       "permits-and-shared-go-together",
		"permits-not-given-back":  "permits-of-a-descriptor",
		"queue-one-more":          "queue-one-waits",
		"queue-never-waits":       "queue-a-killed-waiter-leaves-room",
		"report-ignored":          "report-refused",
		"report-says-it-twice":    "report-while-waiting",
		"remove-ignored":          "remove-the-file-is-gone",
		"remove-as-with-rm":       "remove-a-plain-holder-keeps-it",
		"remove-with-content":     "remove-not-what-has-content",
		"remove-what-it-made":     "remove-a-file-that-was-there",
		"remove-refuses-nothing":  "remove-refused-directory",
	}
	for name, newKind := range map[string]func(*testing.T) mutantKind{"standin": newStandins, "ours": newWrappers} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKind(t)
			faultless := k.newWorld(t, "")
			tried := 0
			for _, mutant := range k.mutants(t) {
				i := slices.IndexFunc(k.cases, func(c compatCase) bool { return c.name == pairs[mutant] })
				if i < 0 {
					continue
				}
				tried++
				c := k.cases[i]
				t.Run(mutant, func(t *testing.T) {
					t.Parallel()
					if need := unmetNeed(c); need != "" {
						t.Skip("needs " + need)
					}
					if got, err := k.run(faultless, c); err != nil || got != k.want(c) {
						t.Errorf("%s is different without a fault: %v\n%s", c.name, err, diff(k.want(c), got))
					}
					if got, err := k.run(k.newWorld(t, mutant), c); err != nil || got == k.want(c) {
						t.Errorf("%s does not see the fault: %v", c.name, err)
					}
				})
			}
			if want := map[string]int{"standin": 17, "ours": 18}[name]; tried != want {
				t.Errorf("%d of %d faults have a case: a fault or a case has another name now", tried, want)
			}
		})
	}
}

// test runs the cases with the faults.
func (k mutantKind) test(t *testing.T, mode string) {
	var mu sync.Mutex
	caught := map[string][]string{} // by case: the faults that it sees
	seen := map[string]int{}        // by fault: the number of cases that see it
	unusable := map[string]bool{}   // cases that fail without a fault
	run := func(mutant string) {
		w := k.newWorld(t, mutant)
		var group sync.WaitGroup
		slots := make(chan bool, 6)
		for _, c := range k.cases {
			mu.Lock()
			done := mode == "first" && k.quick && len(caught[c.name]) > 0 || unusable[c.name]
			mu.Unlock()
			if done || unmetNeed(c) != "" {
				continue
			}
			slots <- true
			group.Go(func() {
				defer func() { <-slots }()
				got, err := k.run(w, c)
				if err != nil {
					t.Error(err)
					return
				}
				want := k.want(c)
				if got == want {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if mutant != "" {
					caught[c.name] = append(caught[c.name], mutant)
					seen[mutant]++
					return
				}
				unusable[c.name] = true
				t.Errorf("different without a fault: %s\n%s", c.name, diff(want, got))
			})
		}
		group.Wait()
	}
	run("")
	mutants := k.mutants(t)
	if mode != "first" && mode != "all" {
		mutants = slices.DeleteFunc(mutants, func(name string) bool { ok, _ := path.Match(mode, name); return !ok })
		t.Logf("faults: %q", mutants)
	}
	for _, mutant := range mutants {
		run(mutant)
	}

	var survivors []string
	for _, c := range k.cases {
		if unmetNeed(c) != "" || unusable[c.name] {
			continue
		}
		t.Logf("%-55s %3d %s", c.name, len(caught[c.name]), strings.Join(caught[c.name], " "))
		if len(caught[c.name]) == 0 {
			survivors = append(survivors, c.name)
		}
	}
	for _, mutant := range mutants {
		if (mode != "first" || !k.quick) && seen[mutant] == 0 {
			t.Errorf("no case sees the fault %s", mutant)
		}
	}
	fmt.Printf("%s: %d cases, %d faults; cases that see none of them: %d %s\n",
		k.source, len(k.cases), len(mutants), len(survivors), strings.Join(survivors, " "))
	if (mode == "first" || mode == "all") && len(survivors) > 0 {
		t.Errorf("cases that cannot fail: %s", strings.Join(survivors, " "))
	}
}
