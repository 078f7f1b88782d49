//go:build unix

package compat_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	bashPath, pythonPath string
	referencePath        string // empty if util-linux flock is not installed
	referenceRelease     string
	oursPath             string // empty if it cannot be built; oursMissing says why
	oursMissing          string
)

// findPrograms looks for the programs that the cases need, and builds ours into base.
func findPrograms(base string) error {
	// python3 in PATH may be a wrapper that starts slowly or leaves descriptors open.
	if out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output(); err == nil {
		pythonPath = strings.TrimSpace(string(out))
	}
	for _, path := range []string{"/usr/bin/flock", "/bin/flock"} {
		out, err := exec.Command(path, "--version").Output()
		// our own version line begins with the same words, and has more
		words := strings.Fields(string(out))
		if err == nil && len(words) == 4 && words[2] == "util-linux" {
			referencePath, referenceRelease = path, words[3]
			break
		}
	}
	oursPath, oursMissing = buildOurs(base)
	return nil
}

// buildOurs copies the program that FLOCK_UNDER_TEST names, or builds ours as the Makefile does. It makes a copy,
// because some cases run it as another user.
func buildOurs(base string) (path, missing string) {
	path = filepath.Join(base, "flock")
	if given := os.Getenv("FLOCK_UNDER_TEST"); given != "" {
		if err := copyProgram(given, path); err != nil {
			return "", err.Error()
		}
		return path, ""
	}
	if out, err := goBuild(path).CombinedOutput(); err != nil {
		return "", fmt.Sprintf("%v\n%s", err, out)
	}
	return path, ""
}

// copyProgram copies a program to where other users find it.
func copyProgram(from, to string) error {
	text, err := os.ReadFile(from)
	return errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o755))
}

// linkFlags are those of the Makefile for systems where the Go runtime always starts.
const linkFlags = "-s -w -checklinkname=0"

// goBuild returns the command that builds ours as the Makefile does. A flag among more replaces the same one of the
// Makefile.
func goBuild(path string, more ...string) *exec.Cmd {
	flags := linkFlags
	if runtime.GOOS == "linux" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64") {
		flags += " -E flock_entry"
	}
	build := exec.Command("go",
		append([]string{"build", "-trimpath", "-tags", "flock_linkname", "-ldflags", flags, "-o", path}, more...)...)
	build.Dir = ".."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	return build
}

// oldestRelease is the first release of util-linux that gives the recorded answers, but for those of later ones.
const oldestRelease = "2.38"

// releaseKnows reports whether a release of util-linux gives the expected answer to c.
func releaseKnows(release string, c compatCase) bool {
	return compareReleases(release, cmp.Or(c.since, oldestRelease)) >= 0
}

func TestReleaseKnows(t *testing.T) {
	for _, c := range []struct {
		release, since string
		want           bool
	}{
		{"2.37.4", "", false}, {"2.38", "", true}, {"2.38-rc1", "", true}, {"2.38.1", "", true}, {"2.100", "", true},
		{"2.42.1", "2.43", false}, {"2.43", "2.43", true}, {"2.9", "2.43", false}, {"3", "2.43", true},
	} {
		if got := releaseKnows(c.release, compatCase{since: c.since}); got != c.want {
			t.Errorf("%s knows a case since %q: %v", c.release, c.since, got)
		}
	}
}

func compareReleases(a, b string) int {
	for a != "" || b != "" {
		var x, y int
		var one, two string
		one, a, _ = strings.Cut(a, ".")
		two, b, _ = strings.Cut(b, ".")
		fmt.Sscan(one, &x)
		fmt.Sscan(two, &y)
		if x != y {
			return x - y
		}
	}
	return 0
}

// TestMakeBuildsAnew makes a small tree with our Makefile. It builds anew after a commit, which changes the version,
// and after a change of the source, but not of a test.
func TestMakeBuildsAnew(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("needs make")
	}
	dir := t.TempDir()
	write := func(name, text string, age time.Duration) {
		t.Helper()
		path := filepath.Join(dir, name)
		writeTree(t, dir, map[string]string{name: text})
		changed := time.Now().Add(-age)
		if err := os.Chtimes(path, changed, changed); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string]string{
		"go.mod": "", "go.sum": "", "main.go": "", "internal/x/x.go": "",
		"packaging/version.sh": "#!/bin/sh\ncat v\n", "v": "1", "internal/early/known.sh": "",
		"build.sh": "cat v >flock; echo >>builds", // in the place of go build
	}
	maps.Copy(files, makefiles(t))
	for name, text := range files {
		write(name, text, 3*time.Hour)
	}
	builds := 0
	for _, step := range []struct {
		what      string
		do        func()
		wantBuild bool
	}{
		{"at first", func() {}, true},
		{"with nothing new", func() {}, false},
		{"after a commit", func() { write("v", "2", 0) }, true},
		{"with nothing new again", func() {}, false},
		{"after a change of the source", func() { write("internal/x/x.go", "", 0) }, true},
		{"after a change of a test",
			func() { write("internal/x/x_test.go", "", 0); write("main_test.go", "", 0) }, false},
	} {
		step.do()
		if out, err := exec.Command("make", "-C", dir, "flock", "GOBUILD=sh build.sh").CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", step.what, err, out)
		}
		text, _ := os.ReadFile(filepath.Join(dir, "builds"))
		if isBuilt := len(text) > builds; isBuilt != step.wantBuild {
			t.Errorf("%s: built: %v", step.what, isBuilt)
		}
		builds = len(text)
		version, _ := os.ReadFile(filepath.Join(dir, "v"))
		if got, _ := os.ReadFile(filepath.Join(dir, "flock")); string(got) != string(version) {
			t.Errorf("%s: the program has the version %s", step.what, got)
		}
		// From now on all is older than what the next step changes.
		for _, name := range []string{"flock", "build/version", "v", "internal/x/x.go"} {
			changed := time.Now().Add(-2 * time.Hour)
			if name == "flock" {
				changed = changed.Add(time.Hour)
			}
			os.Chtimes(filepath.Join(dir, name), changed, changed)
		}
	}
}

// makefiles returns the text of the Makefile, and of those that it includes, by their names.
func makefiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{"Makefile": read(t, "../Makefile")}
	for _, line := range regexp.MustCompile(`(?m)^include (.*)$`).FindAllStringSubmatch(files["Makefile"], -1) {
		for name := range strings.FieldsSeq(line[1]) {
			files[name] = read(t, filepath.Join("..", name))
		}
	}
	return files
}

// writeTree writes files that may be executed, by their names in a directory.
func writeTree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(text), 0o777)); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The tests run on every system as if it were one of those where nobody looks first. The directory for temporary files
// is a symbolic link, as on macOS; wc pads its numbers; ls shows hidden names, as to root of a BSD; the first bash in PATH
// is too old; there is no timeout, but for cases that need it. The programs are in elsewhere/.

// imitateElsewhere makes the directory for temporary files, in which workDir is, and sets PATH, in which bash is a new
// one.
func imitateElsewhere() (top string, err error) {
	if top, err = os.MkdirTemp("", "flock-compat-"); err != nil {
		return "", err
	}
	if top, err = filepath.EvalSymlinks(top); err != nil {
		return "", err
	}
	link := filepath.Join(top, "tmp")
	bin := filepath.Join(top, "bin")
	err = errors.Join(os.Chmod(top, 0o755), // some cases run as other users
		os.Mkdir(filepath.Join(top, "private"), 0o755), os.Symlink("private", link), os.Setenv("TMPDIR", link),
		copyElsewhere("bin/wc", bin))
	if err != nil {
		return top, err
	}
	if workDir, err = filepath.EvalSymlinks(link); err != nil {
		return top, err
	}
	if bashPath, err = findBash(); err != nil {
		return top, err
	}
	return top, errors.Join(os.Symlink(bashPath, filepath.Join(bin, "bash")),
		os.Setenv("PATH", bin+":"+os.Getenv("PATH")))
}

// copyElsewhere copies a program of elsewhere/ into a directory.
func copyElsewhere(program, to string) error {
	return copyProgram(filepath.Join("elsewhere", program), filepath.Join(to, filepath.Base(program)))
}

// systemPath is the end of the PATH of the scripts.
const systemPath = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

// path returns the PATH for the script of c.
func (w *world) path(c compatCase) string {
	path := filepath.Join(w.dir, "bin")
	if !slices.Contains(c.needs, "timeout") {
		path += ":" + filepath.Join(w.dir, "missing")
	}
	return path + ":" + systemPath
}

// inSystemPath returns the path of a program that scripts find.
func inSystemPath(name string) string {
	for _, dir := range filepath.SplitList(systemPath) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	return ""
}

// selfPath returns the path of this program.
func selfPath(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil { // without /proc
		path, err = filepath.Abs(os.Args[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// findBash returns the first bash 5, which the cases need for $EPOCHREALTIME.
func findBash() (string, error) {
	path := "elsewhere/old:" + os.Getenv("PATH") + ":/opt/homebrew/bin:/usr/local/bin"
	for _, dir := range filepath.SplitList(path) {
		path := filepath.Join(dir, "bash")
		if exec.Command(path, "-c", "((BASH_VERSINFO[0] >= 5))").Run() == nil {
			return path, nil
		}
	}
	return "", errors.New("the cases need bash 5 or later, and there is none in PATH (macOS: brew install bash)")
}

// TestElsewhere sees that the tests run as if they were elsewhere.
func TestElsewhere(t *testing.T) {
	if physical, err := filepath.EvalSymlinks(os.TempDir()); err != nil || physical == os.TempDir() {
		t.Errorf("the directory for temporary files is no link: %s, %v", physical, err)
	}
	w := newModeWorld(t, "elsewhere", bashPath)
	for _, c := range []struct {
		script string
		needs  []string
		want   string
	}{
		{"echo | wc -l | grep -c '^  '", nil, "1\n"},
		{"timeout 9 echo there 2>&1", nil, "timeout: command not found\n"},
		{"timeout 9 echo there 2>&1", []string{"timeout"}, "there\n"},
		{"mkdir d; : >d/.a; : >d/b; ls d; cd d; ls; sh -c ls; rm b; ls", nil, "b\nb\n.a\nb\n"},
		{"bash -c '[[ $EPOCHREALTIME ]] && echo new'", nil, "new\n"},
	} {
		if need := unmetNeed(compatCase{needs: c.needs}); need != "" {
			t.Logf("not run: needs %s: %s", need, c.script)
			continue
		}
		got, err := w.run(compatCase{script: c.script, needs: c.needs})
		if err != nil || got.stdout != c.want {
			t.Errorf("%s (needs %v): %q, %v", c.script, c.needs, got.stdout, err)
		}
	}
}

// TestDemo runs the demonstration.
func TestDemo(t *testing.T) {
	needOurs(t)
	w := newModeWorld(t, "demo", oursPath)
	demo := exec.Command("sh", "demo.sh", oursPath)
	demo.Env = []string{"PATH=" + w.path(compatCase{}), "TMPDIR=" + os.TempDir()}
	out, err := demo.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, line := range []string{"second start: exit status 1", "40 done, 0 twice", "most at once: 2"} {
		if !strings.Contains(string(out), line) {
			t.Errorf("%q is not in\n%s", line, out)
		}
	}
}
