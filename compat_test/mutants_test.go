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

// A fault stands where it is tested for: M("name") in standin.c, M name or a pattern in wrapper.sh.
var (
	mutantName  = regexp.MustCompile(`\bM\("([a-zA-Z0-9-]+)"\)`)
	wrapperName = regexp.MustCompile(`\bM ([a-z]+-[a-z0-9-]+)|^\t(holders-[a-z-]+)\)`)
)

// A faulty is a kind of program that can be told to have a fault, and what is run to see it.
type faulty struct {
	source string
	names  *regexp.Regexp
	build  func(t *testing.T, mutant string) string
	cases  []compatCase
	says   func(compatCase) (want result)
	run    func(*world, compatCase) (result, error)
	all    bool // every case has to see a fault
}

// standins are a C program that does as the reference does.
func standins(t *testing.T) faulty {
	if !succeeds("cc", "--version") {
		t.Skip("needs a C compiler, cc")
	}
	return faulty{
		source: "mutants/standin.c", names: mutantName, build: buildStandin, cases: cases, all: true,
		says: func(c compatCase) result { return expected[c.name] },
		run:  (*world).run,
	}
}

// wrapped are ours with a fault of the options that the reference does not have.
func wrapped(t *testing.T) faulty {
	needOurs(t)
	says := map[string]string{}
	f := faulty{source: "mutants/wrapper.sh", names: wrapperName, build: buildWrapper}
	for _, c := range readBeyond(t) {
		if want, ok := c.says["native"]; ok && slices.Contains([]string{"permits", "cooldown", "holders", "remove"}, strings.SplitN(c.name, "-", 2)[0]) {
			f.cases = append(f.cases, c.compatCase)
			says[c.name] = want
		}
	}
	f.says = func(c compatCase) result { return result{stdout: says[c.name]} }
	f.run = func(w *world, c compatCase) (result, error) {
		got, err := w.run(c)
		said := result{stdout: jobNotice.ReplaceAllString(got.stdout, "")}
		if got.exit == "hung" {
			said.exit = got.exit
		}
		return said, err
	}
	return f
}

// buildWrapper writes a script that is ours with one fault, or with none.
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

func (f faulty) mutants(t *testing.T) (names []string) {
	source, err := os.ReadFile(f.source)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(source)) {
		for _, m := range f.names.FindAllStringSubmatch(line, -1) {
			if name := strings.Join(m[1:], ""); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// world is one with a fault in its flock. Faults that make a case wait in vain are many: the limits are short, and the
// program without a fault must do with the same.
func (f faulty) world(t *testing.T, mutant string) *world {
	w := newModeWorld(t, "mutant-world-"+mutant, f.build(t, mutant))
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

// TestMutants shows that the cases can fail: for each there must be a fault that it sees, while it passes without one.
// That takes many minutes. FLOCK_MUTANTS (make mutants) says how far to go: with "first" a case is done with the first
// fault that it sees; with "all" every case is run with every fault, and every fault must be seen; anything else is a
// pattern, as of path.Match, for the names of the faults to be tried.
func TestMutants(t *testing.T) {
	mode := os.Getenv("FLOCK_MUTANTS")
	if mode == "" {
		t.Skip("takes many minutes: make mutants; TestSomeMutants is a sample")
	}
	t.Run("standin", func(t *testing.T) { standins(t).try(t, mode) })
	t.Run("ours", func(t *testing.T) { wrapped(t).try(t, mode) })
}

// TestSomeMutants is a sample: each of these faults is seen by the case beside it.
func TestSomeMutants(t *testing.T) {
	notInCheck(t)
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
		"remove-ignored":          "remove-the-file-is-gone",
		"remove-as-with-rm":       "remove-a-plain-holder-keeps-it",
		"remove-with-content":     "remove-not-what-has-content",
		"remove-what-it-made":     "remove-a-file-that-was-there",
		"remove-refuses-nothing":  "remove-refused-directory",
	}
	for name, family := range map[string]func(*testing.T) faulty{"standin": standins, "ours": wrapped} {
		t.Run(name, func(t *testing.T) {
			f := family(t)
			sound := f.world(t, "")
			tried := 0
			for _, mutant := range f.mutants(t) {
				i := slices.IndexFunc(f.cases, func(c compatCase) bool { return c.name == pairs[mutant] })
				if i < 0 {
					continue
				}
				tried++
				c := f.cases[i]
				t.Run(mutant, func(t *testing.T) {
					t.Parallel()
					if need := missing(c); need != "" {
						t.Skip("needs " + need)
					}
					if got, err := f.run(sound, c); err != nil || got != f.says(c) {
						t.Errorf("%s is different without a fault: %v\n%s", c.name, err, diff(f.says(c), got))
					}
					if got, err := f.run(f.world(t, mutant), c); err != nil || got == f.says(c) {
						t.Errorf("%s does not see the fault: %v", c.name, err)
					}
				})
			}
			if want := map[string]int{"standin": 17, "ours": 14}[name]; tried != want {
				t.Errorf("%d of %d faults have a case: a fault or a case has another name now", tried, want)
			}
		})
	}
}

// try runs the cases of f with its faults.
func (f faulty) try(t *testing.T, mode string) {
	var mu sync.Mutex
	caught := map[string][]string{} // faults seen, by case
	seen := map[string]int{}        // cases that see it, by fault
	unfit := map[string]bool{}      // cases that the program fails without a fault
	run := func(mutant string) {
		w := f.world(t, mutant)
		var group sync.WaitGroup
		slots := make(chan bool, 6)
		for _, c := range f.cases {
			mu.Lock()
			done := mode == "first" && f.all && len(caught[c.name]) > 0 || unfit[c.name]
			mu.Unlock()
			if done || missing(c) != "" {
				continue
			}
			slots <- true
			group.Go(func() {
				defer func() { <-slots }()
				got, err := f.run(w, c)
				if err != nil {
					t.Error(err)
					return
				}
				want := f.says(c)
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
				unfit[c.name] = true
				if f.all {
					t.Errorf("the stand-in itself is different: %s\n%s", c.name, diff(want, got))
				} else {
					t.Logf("cannot be run behind the wrapper: %s\n%s", c.name, diff(want, got))
				}
			})
		}
		group.Wait()
	}
	run("")
	mutants := f.mutants(t)
	if mode != "first" && mode != "all" {
		mutants = slices.DeleteFunc(mutants, func(name string) bool { ok, _ := path.Match(mode, name); return !ok })
		t.Logf("faults: %q", mutants)
	}
	for _, mutant := range mutants {
		run(mutant)
	}

	var survivors []string
	for _, c := range f.cases {
		if missing(c) != "" || unfit[c.name] {
			continue
		}
		t.Logf("%-55s %3d %s", c.name, len(caught[c.name]), strings.Join(caught[c.name], " "))
		if len(caught[c.name]) == 0 {
			survivors = append(survivors, c.name)
		}
	}
	for _, mutant := range mutants {
		if (mode != "first" || !f.all) && seen[mutant] == 0 {
			t.Errorf("no case sees the fault %s", mutant)
		}
	}
	fmt.Printf("%s: %d cases, %d faults; cases that see none of them: %d %s\n",
		f.source, len(f.cases), len(mutants), len(survivors), strings.Join(survivors, " "))
	if f.all && (mode == "first" || mode == "all") && len(survivors) > 0 {
		t.Errorf("cases that cannot fail: %s", strings.Join(survivors, " "))
	}
	if len(unfit)*10 > len(f.cases) {
		t.Errorf("%d of %d cases cannot be run behind the wrapper", len(unfit), len(f.cases))
	}
}
