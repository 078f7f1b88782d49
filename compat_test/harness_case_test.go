//go:build unix

package compat_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A compatCase is a script as users write it, and what the harness must know to run it.
type compatCase struct {
	file   string // base name of the case file without its suffix
	name   string
	text   string // the name, the directives and the script, as they stand in the file
	script string

	each   string // what the script has in the variable each
	answer string // the case whose answer this is: with the directive each that for the first word

	expected result // what util-linux answers
	intended result // what ours answers, where a difference is intended
	hash     string // that of the script which was answered: see hashNow
	isUnread bool   // nobody has compared the answer, which is our own, with what the reference documents

	needs     []string // what the machine must have, see harness_needs_test.go
	since     string   // first release of util-linux that gives this answer
	derived   string   // the answer was not recorded but follows from this fact
	kernel    string   // why this works with kernel locks only
	directory string   // why this works with the directory lock only
	differs   string   // why ours intentionally gives another answer
	runtime   string   // why this passes only where flock runs without the Go runtime
	starts    string   // why flock starts the Go runtime for this although it prints nothing
	unordered string   // why the lines of standard output have no fixed order
	alike     string   // why the way of locking makes no difference
	long      string   // why only make long runs this
}

// readCases reads all files of cases in a directory.
func readCases(dir string) ([]compatCase, error) {
	files, err := filepath.Glob(dir + "/*.sh")
	if err != nil {
		return nil, err
	}
	var all []compatCase
	seen := map[string]string{}
	for _, path := range files {
		cases, err := readCaseFile(path)
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			if seen[c.name] != "" {
				return nil, fmt.Errorf("%s: case %s is also in %s", path, c.name, seen[c.name])
			}
			seen[c.name] = path
		}
		all = append(all, cases...)
	}
	return all, nil
}

// readCaseFile reads a file of cases. A case is a line "### name", directive lines "# key: value", and a bash script up
// to the next "###". A directive before the first case is one of every case. With the directive each, the block is a
// case for each word of its value.
func readCaseFile(path string) (cases []compatCase, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	whole := compatCase{file: strings.TrimSuffix(filepath.Base(path), ".sh")}
	head, _, _ := strings.Cut("\n"+string(text), "\n### ")
	if _, directives, ok := strings.Cut(head, "\n# "); ok {
		if _, _, err := whole.parseDirectives("# " + directives + "\n"); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, block := range splitBlocks(string(text)) {
		c := whole
		c.needs = slices.Clone(whole.needs)
		words, err := c.parse(block)
		if err != nil {
			return nil, fmt.Errorf("%s: case %s: %w", path, c.name, err)
		}
		name := c.name
		c.answer = strings.ReplaceAll(name, "$each", words[0])
		for _, c.each = range words {
			c.name = strings.ReplaceAll(name, "$each", c.each)
			cases = append(cases, c)
		}
	}
	return cases, nil
}

// splitBlocks cuts a file of cases at its "### " lines, and drops the text before the first one.
func splitBlocks(text string) []string {
	blocks := strings.Split("\n"+text, "\n### ")
	return blocks[1:]
}

// parse sets c from a block and returns the words of its directive each, or an empty word.
func (c *compatCase) parse(block string) (words []string, err error) {
	var rest string
	c.text = strings.TrimRight(block, "\n") + "\n"
	c.name, rest, _ = strings.Cut(block, "\n")
	words, rest, err = c.parseDirectives(rest)
	if err != nil {
		return nil, err
	}
	c.script = strings.Trim(rest, "\n") + "\n"
	if c.script == "\n" {
		return nil, errors.New("no script")
	}
	if c.derived != "" && c.since == "" {
		return nil, errors.New("derived without since: the installed reference can answer it")
	}
	if len(words) == 0 {
		words = []string{""}
	}
	return words, nil
}

// parseDirectives sets c from the directives with which text begins, and returns the words of each, and the other text.
func (c *compatCase) parseDirectives(text string) (words []string, rest string, err error) {
	fields := map[string]*string{"since": &c.since, "derived": &c.derived, "kernel": &c.kernel,
		"directory": &c.directory, "runtime": &c.runtime, "starts": &c.starts,
		"unordered": &c.unordered, "alike": &c.alike, "long": &c.long}
	for strings.HasPrefix(text, "# ") {
		line, after, _ := strings.Cut(text, "\n")
		key, value, ok := strings.Cut(line[2:], ": ")
		if !ok {
			return nil, "", fmt.Errorf("not a directive: %s", line)
		}
		switch field := fields[key]; {
		case key == "each":
			words = strings.Fields(value)
		case key == "needs":
			c.needs = append(c.needs, strings.Fields(value)...)
		case field != nil:
			*field = value
		default:
			return nil, "", fmt.Errorf("unknown directive %q", key)
		}
		text = after
	}
	return words, text, nil
}
