//go:build unix

package compat_test

import (
	"context"
	"errors"
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

// A recipe is a block of the README or the manual that is there to be copied.
type recipe struct {
	from string // the document
	text string
}

// cronJob is a line of a crontab, when and the command, or the command of a unit of systemd.
var cronJob = regexp.MustCompile(`(?m)^(?:(?:\S+ \* \* \* \*|@reboot) |ExecStart=)(.+)$`)

// readRecipes returns the recipes of the documents, and those of the manual as each formatter here prints them.
func readRecipes(t *testing.T) (all []recipe) {
	t.Helper()
	for path, part := range map[string][2]string{
		"README.md": {"## Recipes\n", "\n## "}, "doc/recipes.md": {"# More recipes\n", "\n# "},
	} {
		all = append(all, indented(path, read(t, "../"+path), part[0], part[1], 4)...)
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
		for start, end := range map[string]string{"DESCRIPTION": "OPTIONS", "EXAMPLES": "QUESTIONS BY SYMPTOM"} {
			all = append(all, indented("man/flock.1, "+words[0], overstrike.ReplaceAllString(string(out), ""),
				"\n"+start+"\n", "\n"+end+"\n", 11)...)
		}
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

// recipeShells are those into which people paste a recipe.
var recipeShells = []string{"dash", "bash", "zsh", "busybox sh", "ksh", "mksh"}

// shellLimits lists what a shell cannot do by its nature: a recipe with these words is not pasted into it.
var shellLimits = []struct{ shell, words, reason string }{
	{"ksh", `h=\$\(`, "it waits for what $(...) has started in the background; the recipe says so"},
	{"busybox", `etimes`, "its ps may be an applet, which does not know etimes"},
}

// recipeNeeds lists what a recipe with some words needs of the system.
var recipeNeeds = []struct {
	words string
	met   func() bool
}{
	{`tail --pid`, func() bool { return succeeds("tail", "--pid=1000000", "-f", "/dev/null") }},
	{`--holders`, needChecks["locks"]},
	{`--queue`, needChecks["own-path"]}, // on Linux /proc
	{`--replace`, needChecks["linux"]},
	{`timeout `, needChecks["timeout"]},
	{`--start`, needChecks["ofd"]},
	{`etimes`, func() bool { return succeeds("ps", "-o", "etimes=", "-p", strconv.Itoa(os.Getpid())) }},
	{`< <\(`, func() bool { return succeeds("bash", "-c", ": < <(:)") }}, // bash opens a name in /dev/fd
	{`env fish`, func() bool { return succeeds("fish", "--version") }},   // it makes no files in the home
}

// TestRecipes pastes every recipe, as it is printed, into each shell, in a directory with what it needs. All succeed at
// once, also after set -eu.
func TestRecipes(t *testing.T) {
	needOurs(t)
	all := readRecipes(t)
	if len(all) < 20 {
		t.Fatalf("%d recipes found", len(all))
	}
	pasted := map[string]bool{}
	for i, r := range all {
		checkRecipe(t, r)
		shells := recipeShells
		if strings.HasPrefix(r.text, "#!") && !strings.HasPrefix(r.text, "#!/bin/sh\n") {
			shells = []string{""} // its own
		}
		if !isLong { // each recipe in two of the shells, each shell with many of the recipes
			shells = append(slices.Clone(shells), shells...)[i%len(shells):][:min(2, len(shells))]
		}
		for _, shell := range shells {
			if paste := shell + "\n" + r.text; !pasted[paste] { // the formatters of the manual print the same
				pasted[paste] = true
				t.Run(strings.Fields(shell + " own")[0], func(t *testing.T) {
					pasteRecipe(t, r, shell)
				})
			}
		}
	}
}

// takesAllForConflict finds a message or another action after "||" that is right after a conflict only: flock and its
// command have other reasons to fail.
var takesAllForConflict = regexp.MustCompile(`flock(-\w+)? [^|#]*\|\| *\{? *echo`)

// checkRecipe finds what a reader would regret, although it runs here.
func checkRecipe(t *testing.T, r recipe) {
	for line := range strings.Lines(r.text) {
		wrong := ""
		switch m := cronJob.FindStringSubmatch(line); {
		case m != nil && !strings.HasPrefix(m[1], "/"):
			wrong = "cron and systemd need the path of flock"
		case strings.Contains(line, "/tmp/"):
			wrong = "anybody can make that file"
		case takesAllForConflict.MatchString(line):
			wrong = "it takes every status for a conflict"
		case strings.HasPrefix(r.from, "man/") && len(line) > 70: // with the end of the line
			wrong = "80 columns have no room for it"
		default:
			continue
		}
		t.Errorf("%s: %s: %s", r.from, wrong, line)
	}
}

// pasteRecipe runs a recipe in a shell, or as it stands there if shell is empty.
func pasteRecipe(t *testing.T, r recipe, shell string) {
	for _, need := range recipeNeeds {
		if regexp.MustCompile(need.words).MatchString(r.text) && !need.met() {
			t.Skipf("%s: %s is not here:\n%s", r.from, need.words, r.text)
		}
	}
	for _, limit := range shellLimits {
		if strings.HasPrefix(shell, limit.shell) && regexp.MustCompile(limit.words).MatchString(r.text) {
			t.Skipf("%s: %s: not pasted, because %s:\n%s", r.from, shell, limit.reason, r.text)
		}
	}
	head := ""
	if name, more, _ := strings.Cut(shell, " "); name != "" {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skip("needs " + name)
		}
		head = strings.TrimSpace("#!"+path+" "+more) + "\nset -eu\n"
		if name == "busybox" {
			head += asIfStatic(t, path)
		}
	}
	dir := t.TempDir()
	if err := prepareRecipe(dir, head, r.text); err != nil {
		t.Fatal(err)
	}
	t.Parallel() // Now all scripts are written: a fork would keep them open for writing, and nobody could execute them.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, filepath.Join(dir, "recipe"))
	run.Dir = dir
	// A new user's home, and no more variables than cron sets everywhere.
	run.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C"}
	out, err := os.Create(filepath.Join(dir, "out")) // not a pipe, which what a recipe leaves running would keep open
	if err != nil {
		t.Fatal(err)
	}
	run.Stdout, run.Stderr = out, out
	err = run.Run()
	out.Close()
	text, _ := os.ReadFile(out.Name())
	if err != nil || regexp.MustCompile(`(?m)^\S+: `).Match(text) {
		t.Errorf("%s: pasted into %s: %v\n%s\nprinted:\n%s", r.from, shell, err, r.text, text)
	}
}

// asIfStatic returns what makes every busybox behave like a static one, which runs its own applets whatever is in PATH.
func asIfStatic(t *testing.T, busybox string) (functions string) {
	out, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		t.Fatal("busybox --list: ", err)
	}
	for _, applet := range strings.Fields(string(out)) {
		if slices.Contains(standIns, applet) {
			functions += applet + "() { " + busybox + " " + applet + ` "$@"; }` + "\n"
		}
	}
	return functions
}

// standIns are the programs of the recipes that do nothing here.
var standIns = strings.Fields("mirror mirror-all report update edit-record flac send-alert reload-all server work job " +
	"script.sh logger make ssh deploy apt-get train flock-etcd flock-postgres")

// prepareRecipe makes a script of a recipe, with its paths below dir, and there what it uses: files, and programs that
// do nothing. The script begins with head, where the first line of the recipe names no other shell.
func prepareRecipe(dir, head, text string) error {
	text = cronJob.ReplaceAllString(text, "$1")
	here := dir + "/"
	text = strings.NewReplacer("/usr/local/bin/", here, "/etc/init.d/", here, "/opt/", here, "/var/run/", here, "/var/lib/dpkg/", here,
		"chgrp team ", "chgrp "+strconv.Itoa(os.Getgid())+" ").Replace(text)
	if head != "" {
		text = head + strings.TrimPrefix(text, "#!/bin/sh\n")
	}
	files := map[string]string{"counter": "0\n", "queue": "a\nb\n", "a.wav": "", "b.wav": "",
		"job.lock": "", "mirror.lock": ""}
	err := errors.Join(os.Symlink(oursPath, filepath.Join(dir, "flock")),
		os.WriteFile(filepath.Join(dir, "recipe"), []byte(text), 0o755))
	for name, content := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666))
	}
	for _, name := range standIns {
		content := "#!/bin/sh\n"
		if name == "logger" { // ksh ends with the last program of a pipeline: it has read all, and flock has ended
			content += "exec cat >/dev/null\n"
		}
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755))
	}
	return err
}

// TestRecipeLoopEnds pastes the recipes with a loop that waits for flock, with a lock that cannot be opened.
func TestRecipeLoopEnds(t *testing.T) {
	needOurs(t)
	for _, r := range readRecipes(t) {
		if !strings.Contains(r.text, "until [") {
			continue
		}
		dir := t.TempDir()
		if err := prepareRecipe(dir, "#!/bin/sh\n", strings.ReplaceAll(r.text, "job.lock", "none/job.lock")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		run := exec.CommandContext(ctx, filepath.Join(dir, "recipe"))
		run.Dir, run.Env = dir, []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
		if err := run.Run(); ctx.Err() != nil || run.ProcessState.ExitCode() != 1 {
			t.Errorf("%s: %v, where it should exit with 1:\n%s", r.from, err, r.text)
		}
	}
}

// TestRecipesOnEverySystem finds in README and manuals what only some systems have, and what takes every status for a
// conflict.
func TestRecipesOnEverySystem(t *testing.T) {
	gnu := regexp.MustCompile(`touch -d|Nm touch Fl d|stat -c|Nm stat Fl c|date -d|--exclude`)
	for _, path := range strings.Fields("README.md doc/recipes.md man/flock.1 man/flock-directory.7 " +
		"fleet/etcd/README.md fleet/postgres/README.md fleet/man/flock-backend.1.in") {
		for line := range strings.Lines(read(t, "../"+path)) {
			if words := gnu.FindString(line); words != "" {
				t.Errorf("%s: not on every system: %s: %s", path, words, line)
			}
			if takesAllForConflict.MatchString(line) {
				t.Errorf("%s: it takes every status for a conflict: %s", path, line)
			}
		}
	}
}
