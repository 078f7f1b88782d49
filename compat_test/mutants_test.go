//go:build unix

package compat_test

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// A mutant is a fault in our source, and the case that sees it: see mutants.txt.
type mutant struct {
	name, found, env    string
	file, before, after string
}

// personality returns the name of the personality in which the fault is seen, in make test-kernels; "": in none.
func (m mutant) personality() string {
	name, isOne := strings.CutPrefix(m.env, "personality=")
	if !isOne {
		return ""
	}
	return name
}

// modeAbsent stands instead of a variable: the fault is seen where the kernel has no locks, in TestAbsent.
const modeAbsent = "mode=absent"

var mutantBlock = regexp.MustCompile(`(?m)^### (\S+) (\S+)(?: (\S+))?\n(\S+)\n- (.*)\n\+ (.*)$`)

func readMutants(t *testing.T) (list []mutant) {
	text := read(t, "mutants.txt")
	for _, m := range mutantBlock.FindAllStringSubmatch(text, -1) {
		list = append(list, mutant{name: m[1], found: m[2], env: m[3], file: m[4], before: m[5], after: m[6]})
	}
	if n := strings.Count(text, "\n### "); len(list) != n {
		t.Fatalf("%d of the %d blocks in mutants.txt can be read", len(list), n)
	}
	return list
}

// build builds ours with the fault and returns the path of the program.
func (m mutant) build(t *testing.T) string {
	program := filepath.Join(workDir, "mutant-"+m.name)
	if out, err := goBuild(program, "-overlay", m.overlay(t)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// overlay returns the file for go build -overlay that puts the fault into the source.
func (m mutant) overlay(t *testing.T) string {
	return overlayOf(t, m.file, m.apply(t, read(t, filepath.Join("..", m.file))))
}

// overlayOf returns the file for go build -overlay with which a file of the source has another text.
func overlayOf(t *testing.T, file, text string) string {
	source, err := filepath.Abs(filepath.Join("..", file))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{source: filepath.Join(dir, "faulty.go")}})
	writeTree(t, dir, map[string]string{"faulty.go": text, "overlay": string(overlay)})
	return filepath.Join(dir, "overlay")
}

// apply returns the text of the file with the fault.
func (m mutant) apply(t *testing.T, text string) string {
	t.Helper()
	if n := strings.Count(text, m.before); n != 1 {
		t.Fatalf("%s has it %d times: %s", m.file, n, m.before)
	}
	return strings.Replace(text, m.before, m.after, 1)
}

// shorten lets a script under a fault, which may make it hang, end soon.
func (w *world) shorten() {
	w.limit = 8 * time.Second
	w.env = append(w.env, "AWAIT_TRIES=150")
}

// TestMutantsMatch finds faults that the source has outgrown, without building them.
func TestMutantsMatch(t *testing.T) {
	for _, m := range readMutants(t) {
		t.Run(m.name, func(t *testing.T) { m.apply(t, read(t, filepath.Join("..", m.file))) })
	}
}

// TestMutants puts faults into our source, one at a time: the case that belongs to a fault must see it. FLOCK_MUTANTS
// is a pattern for path.Match that selects faults by name; without it, make test takes one fault in twelve.
func TestMutants(t *testing.T) {
	t.Parallel()
	skipInCheck(t)
	needOurs(t)
	if os.Getenv("FLOCK_UNDER_TEST") != "" {
		t.Skip("another flock is tested")
	}
	pattern := os.Getenv("FLOCK_MUTANTS")
	beyond := readBeyond(t)
	for i, m := range readMutants(t) {
		if pattern == "" && !isLong && i%12 != 0 {
			continue // a taste
		}
		if matched, _ := path.Match(pattern, m.name); pattern != "" && !matched || m.personality() != "" || m.env == "check" {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			var c compatCase
			var want func(result) bool
			if i := slices.IndexFunc(cases, func(c compatCase) bool { return c.name == m.found }); i >= 0 {
				c = cases[i]
				want = func(r result) bool { return r == c.expected }
			} else if i := slices.IndexFunc(beyond, func(c beyondCase) bool { return c.name == m.found }); i >= 0 {
				c = beyond[i].compatCase
				want = func(r result) bool {
					return jobNotice.ReplaceAllString(r.stdout, "") == beyond[i].output["native"]
				}
			} else {
				t.Fatalf("there is no case %s", m.found)
			}
			if need := unmetNeed(c); need != "" {
				t.Skip("needs " + need)
			}
			if c.long != "" {
				t.Fatalf("%s is only in make long, and make test must see each fault", c.name)
			}
			run := func(program, env string) result {
				w := newModeWorld(t, filepath.Base(program)+"-world-"+m.name, program)
				defer os.RemoveAll(w.dir)
				w.env = []string{"LOCKS=native", env}
				if env == modeAbsent {
					w.under, w.drop = []string{selfPath(t), "without-kernel-locks"}, directoryLines
				}
				if program != oursPath {
					w.shorten()
				}
				r, err := w.run(c)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			env := m.env
			if env == "" {
				env = "NO_ENV=1"
			}
			if got := run(oursPath, env); !want(got) {
				t.Errorf("%s is different without a fault:\n%s", c.name, diff(c.expected, got))
			}
			program := m.build(t)
			defer os.Remove(program)
			if want(run(program, env)) {
				t.Errorf("%s does not see the fault", c.name)
			}
		})
	}
}
