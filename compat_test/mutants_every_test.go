//go:build unix

package compat_test

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

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
