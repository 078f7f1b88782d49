//go:build unix

package compat_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
