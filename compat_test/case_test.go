//go:build unix

package compat_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A compatCase is a script as users write it, and what the harness must know to run it.
type compatCase struct {
	file   string // base name of the case file without its suffix; the transcript file has the same
	name   string
	script string

	needs     []string // what the machine must have, see needs_test.go
	since     string   // first release of the reference that gives this answer
	derived   string   // the transcript was not recorded but follows from this fact
	kernel    string   // why this works with kernel locks only
	differs   string   // why ours intentionally gives another answer
	runtime   string   // why this passes only where flock runs without the Go runtime
	unordered string   // why the lines of standard output have no fixed order
}

// readCases reads cases/*.sh. A case is a line "### name", directive lines "# key: value", and a bash script up to
// the next "###".
func readCases() ([]compatCase, error) {
	files, err := filepath.Glob("cases/*.sh")
	if err != nil {
		return nil, err
	}
	var all []compatCase
	seen := map[string]string{}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		file := strings.TrimSuffix(filepath.Base(path), ".sh")
		needs := fileNeeds(string(text))
		for _, block := range splitBlocks(string(text)) {
			c, err := parseCase(block)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			c.needs = append(c.needs, needs...)
			if seen[c.name] != "" {
				return nil, fmt.Errorf("%s: case %s is also in %s", path, c.name, seen[c.name])
			}
			seen[c.name] = path
			c.file = file
			all = append(all, c)
		}
	}
	return all, nil
}

// fileNeeds returns what all cases of a file need: the line "# needs: ..." before the first of them.
func fileNeeds(text string) []string {
	head, _, _ := strings.Cut("\n"+text, "\n### ")
	_, needs, _ := strings.Cut(head, "\n# needs: ")
	needs, _, _ = strings.Cut(needs, "\n")
	return strings.Fields(needs)
}

// splitBlocks cuts a case or transcript file at its "### " lines. The text before the first one is a comment; only
// fileNeeds reads it.
func splitBlocks(text string) []string {
	blocks := strings.Split("\n"+text, "\n### ")
	return blocks[1:]
}

func parseCase(block string) (compatCase, error) {
	name, rest, _ := strings.Cut(block, "\n")
	c := compatCase{name: name}
	for strings.HasPrefix(rest, "# ") {
		line, after, _ := strings.Cut(rest, "\n")
		key, value, ok := strings.Cut(line[2:], ": ")
		if !ok {
			return c, fmt.Errorf("case %s: not a directive: %s", name, line)
		}
		switch key {
		case "needs":
			c.needs = strings.Fields(value)
		case "since":
			c.since = value
		case "derived":
			c.derived = value
		case "kernel":
			c.kernel = value
		case "differs":
			c.differs = value
		case "runtime":
			c.runtime = value
		case "unordered":
			c.unordered = value
		default:
			return c, fmt.Errorf("case %s: unknown directive %q", name, key)
		}
		rest = after
	}
	c.script = strings.Trim(rest, "\n") + "\n"
	if c.script == "\n" {
		return c, fmt.Errorf("case %s: no script", name)
	}
	if c.derived != "" && c.since == "" {
		return c, fmt.Errorf("case %s: derived, but the installed reference can answer it", name)
	}
	return c, nil
}
