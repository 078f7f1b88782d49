package early

import (
	"os"
	"os/exec"
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
	for _, arch := range []string{"amd64", "arm64"} {
		for _, pkg := range []string{"alarm", "early", "pathsearch"} {
			t.Run(arch+" "+pkg, func(t *testing.T) {
				object := compile(t, arch, "example.org/flock/internal/"+pkg)
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
	dir := t.TempDir()
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
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, strings.ReplaceAll(name, " ", "")+".go")
			if err := os.WriteFile(file, []byte("package p\n"+line+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			object := compile(t, "amd64", file)
			for _, m := range relocation.FindAllStringSubmatch(tool(t, "objdump", object), -1) {
				symbol := position.ReplaceAllString(strings.TrimSpace(m[1]), "")
				if !isAllowed(symbol) && !strings.HasPrefix(symbol, "command-line-arguments.") {
					return
				}
			}
			t.Error("not seen")
		})
	}
}

// compile compiles a package, or a single file, and returns the path of the object file.
func compile(t *testing.T, arch, pkg string) string {
	object := filepath.Join(t.TempDir(), "package.a")
	build := exec.Command("go", "build", "-o", object, pkg)
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return object
}

func tool(t *testing.T, name, object string) string {
	out, err := exec.Command("go", "tool", name, object).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
