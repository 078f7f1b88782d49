//go:build unix

package compat_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestRecipes finds recipes in README and manual that do not work on every system.
func TestRecipes(t *testing.T) {
	cron := regexp.MustCompile(`^ *(\S+ \* \* \* \*|@reboot) (\S+)`)
	gnu := regexp.MustCompile(`touch -d|Nm touch Fl d|stat -c|Nm stat Fl c|date -d|--exclude`)
	jobs := 0
	for _, path := range []string{"../README.md", "../man/flock.1"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if m := cron.FindStringSubmatch(line); m != nil {
				jobs++
				if !strings.HasPrefix(m[2], "/") {
					t.Errorf("%s: the PATH of cron has no /usr/local/bin, give the path of flock: %s", path, line)
				}
			}
			if words := gnu.FindString(line); words != "" {
				t.Errorf("%s: not on every system: %s: %s", path, words, line)
			}
		}
	}
	if jobs == 0 {
		t.Error("no cron job found")
	}
}
