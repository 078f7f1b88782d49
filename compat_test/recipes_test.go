//go:build unix

package compat_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A recipe is a block of the README or the manual that is there to be copied.
type recipe struct {
	from string // the document
	text string
}

// cronJob is a whole line of a crontab: when, and the command.
var cronJob = regexp.MustCompile(`^(?:\S+ \* \* \* \*|@reboot) (.+)\n$`)

// readRecipes returns the recipes of the documents, and those of the manual as each formatter here prints them.
func readRecipes(t *testing.T) (all []recipe) {
	t.Helper()
	for path, heading := range map[string]string{"README.md": "## Recipes\n", "doc/recipes.md": "# More recipes\n"} {
		text, err := os.ReadFile("../" + path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, indented(path, string(text), heading, "\n## ", 4)...)
	}
	for _, printer := range []string{"mandoc -T utf8", "groff -mandoc -T utf8 -P -cbou"} {
		words := strings.Fields(printer)
		if _, err := exec.LookPath(words[0]); err != nil {
			t.Logf("the manual is not read as it is printed by %s, which is missing", words[0])
			continue
		}
		out, err := exec.Command(words[0], append(words[1:], "../man/flock.1")...).Output()
		if err != nil {
			t.Fatal(printer, ": ", err)
		}
		overstrike := regexp.MustCompile(".\b")
		all = append(all, indented("man/flock.1, "+words[0], overstrike.ReplaceAllString(string(out), ""), "\nEXAMPLES\n", "\nQUESTIONS BY SYMPTOM\n", 11)...)
	}
	return all
}

// indented returns the blocks of lines that are indented by so many blanks, between two words of a text.
func indented(from, text, start, end string, blanks int) (all []recipe) {
	_, text, _ = strings.Cut(text, start)
	text, _, _ = strings.Cut(text, end)
	block := ""
	for line := range strings.Lines(text + "\n.\n") {
		if strings.HasPrefix(line, strings.Repeat(" ", blanks)) || line == "\n" && block != "" {
			block += line[min(blanks, len(line)-1):]
		} else if block != "" {
			all = append(all, recipe{from, strings.TrimRight(block, "\n") + "\n"})
			block = ""
		}
	}
	return all
}

// TestRecipes pastes every recipe, as it is printed, into a shell, in a directory with what it needs. All succeed at once.
func TestRecipes(t *testing.T) {
	needOurs(t)
	all := readRecipes(t)
	if len(all) < 20 {
		t.Fatalf("%d recipes found", len(all))
	}
	for _, r := range all {
		for line := range strings.Lines(r.text) {
			if m := cronJob.FindStringSubmatch(line); m != nil && !strings.HasPrefix(m[1], "/") {
				t.Errorf("%s: the PATH of cron has no /usr/local/bin, give the path of flock: %s", r.from, line)
			}
		}
		if _, err := exec.LookPath("fish"); err != nil && strings.HasPrefix(r.text, "#!/usr/bin/env fish") {
			t.Logf("%s: a recipe is not pasted, because fish is missing:\n%s", r.from, r.text)
			continue
		}
		dir := t.TempDir()
		if err := prepareRecipe(dir, r.text); err != nil {
			t.Fatal(err)
		}
		run := exec.Command(filepath.Join(dir, "recipe"))
		run.Dir = dir
		run.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + dir, "USER=ann", "LC_ALL=C"}
		out, err := os.Create(filepath.Join(dir, "out")) // not a pipe, which what a recipe leaves running would keep open
		if err != nil {
			t.Fatal(err)
		}
		run.Stdout, run.Stderr = out, out
		err = run.Run()
		out.Close()
		text, _ := os.ReadFile(out.Name())
		if err != nil || regexp.MustCompile(`(?m)^\S+: `).Match(text) {
			t.Errorf("%s: pasted: %v\n%s\nprinted:\n%s", r.from, err, r.text, text)
		}
	}
}

// prepareRecipe makes a script of a recipe, with its paths below dir, and there what it uses: files, and programs that do
// nothing.
func prepareRecipe(dir, text string) error {
	if m := cronJob.FindStringSubmatch(text); m != nil {
		text = m[1] + "\n"
	}
	here := dir + "/"
	text = strings.NewReplacer("/usr/local/bin/", here, "/etc/init.d/", here, "/var/lock/", here, "/run/lock/", here,
		"/tmp/", here).Replace(text)
	if !strings.HasPrefix(text, "#!") {
		text = "#!/bin/sh\n" + text
	}
	files := map[string]string{"counter": "0\n", "queue": "a\nb\n", "a.wav": "", "b.wav": "", "job.lock": "", "sync.lock": ""}
	err := errors.Join(os.Symlink(oursPath, filepath.Join(dir, "flock")), os.Mkdir(filepath.Join(dir, ".cache"), 0o777),
		os.WriteFile(filepath.Join(dir, "recipe"), []byte(text), 0o755))
	for name, content := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666))
	}
	for _, name := range strings.Fields("sync sync-all report update edit-record flac send-alert reload-all server work job script.sh " +
		"logger chgrp make flock-etcd flock-postgres") {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755))
	}
	return err
}

// TestRecipesOnEverySystem finds what only some systems have in README and manual.
func TestRecipesOnEverySystem(t *testing.T) {
	gnu := regexp.MustCompile(`touch -d|Nm touch Fl d|stat -c|Nm stat Fl c|date -d|--exclude`)
	for _, path := range []string{"../README.md", "../doc/recipes.md", "../man/flock.1", "../man/flock-directory.7"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if words := gnu.FindString(line); words != "" {
				t.Errorf("%s: not on every system: %s: %s", path, words, line)
			}
		}
	}
}
