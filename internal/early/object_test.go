package early

import (
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// allowed lists what the compiled packages may refer to.
var allowed = []string{
	`example.org/flock/internal/(alarm|early|pathsearch)\.`,
	`go:string\.`,            // the text of a constant
	`syscall\.RawSyscall6$`,  // does nothing but the system call
	`syscall\.Errno\.Error$`, // for known errors, does nothing but read a table
	`runtime\.panic(Bounds|Index|Slice[A-Za-z]*)(U|<1>)?$`, // never called: a crash
	`runtime\.morestack_noctxt(<1>)?$`,                     // never called: the stack guard is 0
}

var (
	relocation = regexp.MustCompile(`\[[0-9:]+\]R_[A-Z0-9_]+:([^\t\n]+)`)
	position   = regexp.MustCompile(`([+-][0-9-]+)?$`)
)

// TestObject reads the compiled packages and fails if they refer to the runtime. The compiler can turn a line that
// looks harmless into a call of the runtime, which has not started.
func TestObject(t *testing.T) {
	packages := []string{"alarm", "early", "pathsearch"}
	for _, arch := range []string{"amd64", "arm64"} {
		for pkg, object := range compile(t, arch, "../..", "./internal/", packages) {
			t.Run(arch+" "+pkg, func(t *testing.T) {
				text := tool(t, "objdump", object)
				found := map[string]bool{}
				for _, m := range relocation.FindAllStringSubmatch(text, -1) {
					symbol := position.ReplaceAllString(strings.TrimSpace(m[1]), "")
					found[symbol] = true
					if !isAllowed(symbol) {
						t.Errorf("refers to %s", symbol)
					}
				}
				if pkg == "early" && !found["syscall.RawSyscall6"] {
					t.Error("no reference to the system call is seen")
				}
				for line := range strings.Lines(tool(t, "nm", object)) {
					name := line[strings.LastIndexByte(strings.TrimSpace(line), ' ')+1:]
					if initializer.MatchString(name) {
						t.Errorf("has an initializer: %s", name)
					}
				}
			})
		}
	}
}

var initializer = regexp.MustCompile(`\.(map\.)?init(\.[0-9]+)?\s*$`)

func isAllowed(symbol string) bool {
	for _, pattern := range allowed {
		if regexp.MustCompile("^" + pattern).MatchString(symbol) {
			return true
		}
	}
	return false
}

// TestObjectFindsCalls compiles lines that are not allowed, and asserts that TestObject would find them.
func TestObjectFindsCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("not in make check")
	}
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module p\ngo 1.26\n")
	var names []string
	for name, line := range map[string]string{
		"allocation":    `func F(n int) []byte { return make([]byte, n) }`,
		"concatenation": `func F(a, b string) string { return a + b }`,
		"comparison":    `func F(a, b string) bool { return a == b }`,
		"interface":     `func F(n int) any { return n }`,
		"map":           `func F(m map[int]int) int { return m[1] }`,
		"write barrier": `var p *int; func F(q *int) { p = q }`,
		"panic":         `func F(n int) { if n > 0 { panic(n) } }`,
		"defer":         `func F(f func()) { for range 9 { defer f() } }`,
		"initialized": `var p = f(); func f() int { return len(G) }; ` +
			`var G = g(3); func g(n int) []int { return make([]int, n) }`,
		"another call": `import "syscall"; func F() int { return syscall.Getpid() }`,
	} {
		name = strings.ReplaceAll(name, " ", "")
		names = append(names, name)
		write(name+"/p.go", "package p\n"+line+"\n")
	}
	for name, object := range compile(t, "amd64", dir, "p/", names) {
		t.Run(name, func(t *testing.T) {
			for _, m := range relocation.FindAllStringSubmatch(tool(t, "objdump", object), -1) {
				symbol := position.ReplaceAllString(strings.TrimSpace(m[1]), "")
				if !isAllowed(symbol) && !strings.HasPrefix(symbol, "p/"+name+".") {
					return
				}
			}
			t.Error("not seen")
		})
	}
}

// compile compiles packages of the module in a directory, all at once because that starts few processes, and returns
// the paths of the object files, by package. prefix is what comes before each name.
func compile(t *testing.T, arch, dir, prefix string, packages []string) map[string]string {
	list := exec.Command("go", "list", "-export", "-f", "{{.ImportPath}} {{.Export}}")
	for _, name := range packages {
		list.Args = append(list.Args, prefix+name)
	}
	list.Dir = dir
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=")
	var stderr strings.Builder
	list.Stderr = &stderr
	out, err := list.Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("needs go")
	}
	if err != nil {
		t.Fatalf("%v: %v\n%s", list, err, &stderr)
	}
	objects := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, object, _ := strings.Cut(strings.TrimSpace(line), " ")
		objects[path.Base(name)] = object
	}
	if len(objects) != len(packages) {
		t.Fatalf("%q", out)
	}
	return objects
}

func tool(t *testing.T, name, object string) string {
	out, err := exec.Command("go", "tool", name, object).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
