//go:build unix

package compat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A place is where a file is changed once: its bytes from start to end are replaced.
type place struct {
	file       string
	line       int
	start, end int
	after      string
	text       []byte // of the whole file
}

func (p place) String() string {
	before := strings.Join(strings.Fields(string(p.text[p.start:p.end])), " ")
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
		places = append(places, place{file, at.Line, at.Offset, set.Position(to).Offset, after, []byte(text)})
	}
	negate := func(condition ast.Expr) {
		if b, ok := condition.(*ast.BinaryExpr); ok && (b.Op == token.EQL || b.Op == token.NEQ) {
			return // the comparison is changed
		}
		if condition != nil {
			from, to := set.Position(condition.Pos()).Offset, set.Position(condition.End()).Offset
			change(condition.Pos(), condition.End(), "!("+text[from:to]+")")
		}
	}
	var visit func(n ast.Node, results *ast.FieldList)
	visit = func(n ast.Node, results *ast.FieldList) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Body != nil {
					visit(n.Body, n.Type.Results)
				}
				return false
			case *ast.FuncLit:
				visit(n.Body, n.Type.Results)
				return false
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
				if results == nil || len(n.Results) != results.NumFields() || len(n.Results) == 0 {
					break
				}
				last := n.Results[len(n.Results)-1]
				kind, _ := results.List[len(results.List)-1].Type.(*ast.Ident)
				if name, _ := last.(*ast.Ident); kind != nil && kind.Name == "error" && (name == nil || name.Name != "nil") {
					change(last.Pos(), last.End(), "nil")
				}
			case *ast.BasicLit:
				if n.Value == "0" || n.Value == "1" {
					change(n.Pos(), n.End(), strconv.Itoa(1-int(n.Value[0]-'0')))
				}
			}
			return true
		})
	}
	visit(tree, nil)
	return places
}

// TestEveryMutant changes places of the source, one at a time, and counts by file how many of these faults the tests of
// the package or the cases of the room's mode notice. FLOCK_PLACES names the files and directories, FLOCK_SAMPLE how
// many places to draw at random from each of them, with FLOCK_SEED; without it, each place is changed.
func TestEveryMutant(t *testing.T) {
	if os.Getenv("FLOCK_MUTANTS") != "every" {
		t.Skip("only in make mutants FLOCK_MUTANTS=every PLACES=...")
	}
	seed, _ := strconv.ParseUint(os.Getenv("FLOCK_SEED"), 10, 64)
	for _, name := range strings.Fields(os.Getenv("FLOCK_PLACES")) {
		files := []string{name}
		if filepath.Ext(name) != ".go" {
			paths, _ := filepath.Glob(filepath.Join("..", name, "*.go"))
			for files = nil; len(paths) > 0; paths = paths[1:] {
				files = append(files, filepath.Join(name, filepath.Base(paths[0])))
			}
		}
		var places []place
		for _, file := range files {
			dir, base := filepath.Split(filepath.Join("..", file))
			isBuilt, err := build.Default.MatchFile(dir, base)
			if err != nil {
				t.Fatal(err)
			}
			if isBuilt && !strings.HasSuffix(base, "_test.go") {
				places = append(places, placesOf(t, file)...)
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
}

// judgePlaces changes each of these and prints what is missed, and a table.
func judgePlaces(t *testing.T, places []place) {
	needOurs(t)
	counts, files := map[string]map[string]int{}, []string{}
	for i, p := range places {
		if counts[p.file] == nil {
			counts[p.file] = map[string]int{}
			files = append(files, p.file)
		}
		if i == 0 {
			if how := p.judge(t, p.text); how != "survived" {
				t.Fatalf("without a fault, the tests of %s: %s", p.file, how)
			}
		}
		how := p.judge(t, slices.Concat(p.text[:p.start], []byte(p.after), p.text[p.end:]))
		counts[p.file][how]++
		fmt.Printf("%d/%d %s: %s\n", i+1, len(places), how, p)
	}
	slices.Sort(files)
	fmt.Printf("%-40s %7s %7s %9s %s\n", "file", "killed", "hung", "survived", "does not compile")
	for _, file := range files {
		n := counts[file]
		fmt.Printf("%-40s %7d %7d %9d %d\n", file, n["killed"], n["hung"], n["survived"], n["does not compile"])
	}
}

// judge says what becomes of the source if the file of p has this text.
func (p place) judge(t *testing.T, text []byte) string {
	source, _ := filepath.Abs(filepath.Join("..", p.file))
	dir := t.TempDir()
	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{source: filepath.Join(dir, "faulty.go")}})
	writeTree(t, dir, map[string]string{"faulty.go": string(text), "overlay": string(overlay)})
	room, mode := filepath.Dir(p.file), "TestBeyondNative$"
	if strings.HasPrefix(room, "fallback") {
		room, mode = "fallback/...", "Test(Beyond)?Directory(WithoutKcmp)?$"
	}
	if out, how := runTests("..", nil, "go", "test", "-vet=off", "-short", "-failfast", "-count=1", "-timeout=2m",
		"-overlay", filepath.Join(dir, "overlay"), "./"+room); how != "survived" {
		if strings.Contains(out, "[build failed]") {
			return "does not compile"
		}
		return how
	}
	program := filepath.Join(workDir, "mutant")
	defer os.Remove(program)
	if goBuild(program, "-overlay", filepath.Join(dir, "overlay")).Run() != nil {
		return "does not compile"
	}
	_, how := runTests(".", []string{"FLOCK_UNDER_TEST=" + program},
		selfPath(t), "-test.failfast", "-test.timeout=4m", "-test.run", mode)
	return how
}

// runTests runs tests, and says whether they notice a fault. Nothing that they have started is left.
func runTests(dir string, env []string, argv ...string) (out, how string) {
	temp, err := os.MkdirTemp(workDir, "m")
	if err != nil {
		return "", err.Error()
	}
	defer os.RemoveAll(temp)
	os.Chmod(temp, 0o755) // some cases run as other users
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Dir, c.Env, c.WaitDelay = dir, append(append(os.Environ(), "TMPDIR="+temp), env...), time.Second
	text, err := c.CombinedOutput()
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		if of, _ := os.ReadFile(path); strings.Contains(string(of), temp) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	switch out = string(text); {
	case err == nil:
		return out, "survived"
	case ctx.Err() != nil || strings.Contains(out, "panic: test timed out"):
		return out, "hung"
	}
	return out, "killed"
}
