package cli

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A program that make did not build says so in its one line, since the signals that its caller ignores are not ignored
// in its commands. That of make is in compat_test/beyond/hints.sh.
func TestVersionWithoutMake(t *testing.T) {
	if builtWithMake() {
		t.Skip("the test was built with the tag of the Makefile")
	}
	want := "flock-x from util-linux 2.42 (compatible with it, in Go, built without make): flock-go 1.2\n"
	if got := VersionText("flock-x", "1.2"); got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

// TestHelpTellsAll: --help has a line for each option, with a value if that has one. completions/test.sh compares it with
// the manual page and the completions.
func TestHelpTellsAll(t *testing.T) {
	lines := regexp.MustCompile(`(?m)^ (?:-(.),|   ) --([a-z-]+)( <[a-z]+>)? `)
	untold := []string{"", "nb"}                       // other names of -x and -n
	needless := []string{"close", "remove", "backend"} // for the program of a backend: they change nothing
	for program, own := range map[string][]string{"": nil, "etcd": nil, "postgres": {"schema"}} {
		p, help, told := newParser(program, own, nil, shell), HelpText("flock"), untold
		if program != "" {
			text, err := os.ReadFile("../../fleet/" + program + "/help.txt")
			if err != nil {
				t.Fatal(err)
			}
			help, told = string(text), append(needless, untold...)
		}
		for _, line := range lines.FindAllStringSubmatch(help, -1) {
			told = append(told, line[2])
			opt := p.find(line[2])
			switch {
			case line[2] == "command": // it is not in the table
			case opt == nil || opt.long != line[2] || strings.Trim(string(opt.short), "\x00") != line[1]:
				t.Errorf("%s: %q is told, and not an option", program, line[0])
			case program != "" && opt.kind&ofFiles != 0:
				t.Errorf("%s: --%s is told, and refused", program, opt.long)
			case (opt.kind&flag == 0) != (line[3] != ""):
				t.Errorf("%s: --%s: with or without a value?", program, opt.long)
			}
		}
		for _, opt := range p.options {
			isRefused := program != "" && opt.kind&ofFiles != 0
			if !isRefused && !slices.Contains(told, opt.long) {
				t.Errorf("%s: --%s is not told", program, opt.long)
			}
		}
	}
}
