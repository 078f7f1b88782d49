//go:build unix

package compat_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// A place is where a file is changed once: its bytes from start to end are replaced.
type place struct {
	file       string
	line       int
	start, end int
	after      string
	text       string // of the whole file
}

func (p place) String() string {
	before := strings.Join(strings.Fields(p.text[p.start:p.end]), " ")
	return fmt.Sprintf("%s:%d: %.60s -> %.60s", p.file, p.line, before, p.after)
}

// opposites are the comparisons and what replaces them.
var opposites = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
}

// placesOf returns what can be changed in a file: each comparison, && and ||, condition, call, returned error, 0 and 1.
func placesOf(t *testing.T, file string) (places []place) {
	set, text := token.NewFileSet(), read(t, filepath.Join("..", file))
	tree, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	change := func(from, to token.Pos, after string) {
		at := set.Position(from)
		places = append(places, place{file, at.Line, at.Offset, set.Position(to).Offset, after, text})
	}
	negate := func(condition ast.Expr) {
		b, _ := condition.(*ast.BinaryExpr)
		if condition == nil || b != nil && (b.Op == token.EQL || b.Op == token.NEQ) {
			return // the comparison is changed
		}
		from, to := set.Position(condition.Pos()).Offset, set.Position(condition.End()).Offset
		change(condition.Pos(), condition.End(), "!("+text[from:to]+")")
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if op, ok := opposites[n.Op]; ok {
				change(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), op.String())
			}
		case *ast.IfStmt:
			negate(n.Cond)
		case *ast.ForStmt:
			negate(n.Cond)
		case *ast.SwitchStmt:
			for _, c := range n.Body.List {
				for _, condition := range c.(*ast.CaseClause).List {
					if n.Tag == nil {
						negate(condition)
					}
				}
			}
		case *ast.ExprStmt, *ast.DeferStmt, *ast.GoStmt:
			change(n.Pos(), n.End(), "")
		case *ast.ReturnStmt:
			if len(n.Results) > 0 {
				last := n.Results[len(n.Results)-1]
				if isError.MatchString(text[set.Position(last.Pos()).Offset:set.Position(last.End()).Offset]) {
					change(last.Pos(), last.End(), "nil")
				}
			}
		case *ast.BasicLit:
			if n.Value == "0" || n.Value == "1" {
				change(n.Pos(), n.End(), strconv.Itoa(1-int(n.Value[0]-'0')))
			}
		}
		return true
	})
	return places
}

// isError matches expressions that are an error, as far as their words tell.
var isError = regexp.MustCompile(`(?i)^[&\w.]*(err|failure\.)[^=]*$`)

// TestEveryMutant changes places of the source, one at a time, and counts by file how many of these faults the tests of
// the package or the cases of the room's mode notice. FLOCK_PLACES names the files and directories, FLOCK_SAMPLE how
// many places to draw at random from all of them, with FLOCK_SEED; without it, each place is changed.
func TestEveryMutant(t *testing.T) {
	if os.Getenv("FLOCK_MUTANTS") != "every" {
		t.Skip("only in make mutants FLOCK_MUTANTS=every PLACES=...")
	}
	seed, _ := strconv.ParseUint(os.Getenv("FLOCK_SEED"), 10, 64)
	var places []place
	for _, name := range strings.Fields(os.Getenv("FLOCK_PLACES")) {
		files, _ := filepath.Glob(filepath.Join("..", name, "*.go"))
		if filepath.Ext(name) == ".go" {
			files = []string{filepath.Join("..", name)}
		}
		for _, file := range files {
			isBuilt, err := build.Default.MatchFile(filepath.Split(file))
			if err != nil {
				t.Fatal(err)
			}
			if isBuilt && !strings.HasSuffix(file, "_test.go") {
				places = append(places, placesOf(t, strings.TrimPrefix(file, "../"))...)
			}
		}
	}
	if n, _ := strconv.Atoi(os.Getenv("FLOCK_SAMPLE")); n > 0 && n < len(places) {
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(places), func(i, j int) {
			places[i], places[j] = places[j], places[i]
		})
		places = places[:n]
	}
	judgePlaces(t, places)
}

// judgePlaces changes each of these and prints what is missed, and a table.
func judgePlaces(t *testing.T, places []place) {
	counts, rooms := map[string]map[string]int{}, map[string]bool{}
	for i, p := range places {
		room := filepath.Dir(p.file)
		if !rooms[room] && p.judge(t, p.text) != "survived" {
			t.Fatal("without a fault, tests fail: ", room)
		}
		if rooms[room] = true; counts[p.file] == nil {
			counts[p.file] = map[string]int{}
		}
		how := p.judge(t, p.text[:p.start]+p.after+p.text[p.end:])
		counts[p.file][how]++
		fmt.Printf("%d/%d %s: %s\n", i+1, len(places), how, p)
	}
	fmt.Printf("%-40s %7s %7s %9s %s\n", "file", "killed", "hung", "survived", "does not compile")
	for _, file := range slices.Sorted(maps.Keys(counts)) {
		n := counts[file]
		fmt.Printf("%-40s %7d %7d %9d %d\n", file, n["killed"], n["hung"], n["survived"], n["does not compile"])
	}
}

// judge says what becomes of the source if the file of p has this text.
func (p place) judge(t *testing.T, text string) string {
	overlay := overlayOf(t, p.file, text)
	room, mode := filepath.Dir(p.file), "Test(Early|(Beyond)?Native)$"
	switch {
	case strings.HasPrefix(room, "fallback"), strings.Contains(p.file, "directory"):
		mode = "Test(Beyond)?Directory(WithoutKcmp)?$"
	case room == "internal/guard", room == "internal/holders": // only options of ours reach these
		mode = "TestBeyondNative$"
	}
	if how := runTests("..", "", "go", "test", "-vet=off", "-short", "-failfast", "-count=1", "-timeout=40s",
		"-overlay", overlay, "./"+room); how != "survived" {
		return how
	}
	program := filepath.Join(workDir, "mutant")
	goBuild(program, "-overlay", overlay).Run() // it can be compiled
	return runTests(".", program, selfPath(t), "-test.timeout=15m", "-test.run", mode)
}

// runTests runs tests, those of compat_test for a program, and says whether they notice a fault. Nothing that they have
// started is left.
func runTests(dir, program string, argv ...string) (how string) {
	temp := filepath.Join(workDir, "judged") // no variable of this process has it
	defer os.RemoveAll(temp)
	os.Mkdir(temp, 0o755)
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir, c.WaitDelay = dir, time.Second
	c.Env = append(os.Environ(), "TMPDIR="+temp, "FLOCK_UNDER_TEST="+program, "FLOCK_TEST_JUDGES=1")
	out, err := c.CombinedOutput()
	killByEnvironment(func(text string) bool { return strings.Contains(text, temp) })
	switch {
	case err == nil:
		return "survived"
	case strings.Contains(string(out), "[build failed]"):
		return "does not compile"
	case strings.Contains(string(out), "panic: test timed out"):
		return "hung"
	}
	return "killed"
}
