//go:build unix

package compat_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A result is what a user sees of a case: the script's exit status and its two outputs, normalised.
type result struct {
	exit           string // decimal, or "hung"; empty: there is no answer
	stdout, stderr string

	flaw string // why a recorded answer is not valid; empty if it is
}

// The flaws that a recorded answer can have.
const (
	notRecorded = "no answer is recorded: run make record"
	outdated    = "the script has changed since the answer was recorded: run make record"
	unread      = "unread: this answer is our own; compare it with what the reference documents, then remove this line"
)

// The marks of lines that are an answer.
const (
	markStdout    = "#>"
	markStderr    = "#2>"
	markExit      = "#=" // the status, unless it is 0 and there is output
	markNoNewline = `#\` // the line above is the last of an output, and does not end
)

const noNewline = markNoNewline + " no newline at the end"

// format returns a result as it stands in a case.
func (r result) format() string {
	var b strings.Builder
	for _, out := range []struct{ mark, text string }{{markStdout, r.stdout}, {markStderr, r.stderr}} {
		for line := range strings.Lines(out.text) {
			line, ends := strings.CutSuffix(line, "\n")
			if b.WriteString(out.mark); line != "" {
				b.WriteString(" " + line)
			}
			if b.WriteByte('\n'); !ends {
				b.WriteString(noNewline + "\n")
			}
		}
	}
	if r.exit != "0" || b.Len() == 0 {
		fmt.Fprintf(&b, "%s %s\n", markExit, r.exit)
	}
	return b.String()
}

// parse adds a line of an answer to the result, and reports whether it is one.
func (r *result) parse(line string) bool {
	mark, text, _ := strings.Cut(line, " ")
	switch mark {
	case markStdout:
		r.stdout += text + "\n"
	case markStderr:
		r.stderr += text + "\n"
	case markNoNewline:
		out := &r.stdout
		if r.stderr != "" {
			out = &r.stderr
		}
		*out = strings.TrimSuffix(*out, "\n")
	case markExit:
		r.exit = text
		return true
	default:
		return false
	}
	if r.exit == "" {
		r.exit = "0"
	}
	return true
}

// answerLine is where the answers begin, which stand behind the script.
var answerLine = regexp.MustCompile(`(?m)^(#2?>|#=|#\\|# (unread|script|differs):)`)

// cutAnswers cuts the answers from the end of the script: nothing that looks at its text sees them. They are that of
// util-linux and, behind the line "# differs:", ours.
func (c *compatCase) cutAnswers() error {
	c.expected.flaw, c.intended.flaw = notRecorded, notRecorded
	at := answerLine.FindStringIndex(c.script)
	if at == nil {
		return nil
	}
	answers := c.script[at[0]:]
	for _, text := range []*string{&c.script, &c.text} {
		*text = strings.TrimRight(strings.TrimSuffix(*text, answers), "\n") + "\n"
	}
	r := &c.expected
	for line := range strings.Lines(answers) {
		line = strings.TrimSuffix(line, "\n")
		hash, isHash := strings.CutPrefix(line, "# script: ")
		why, isDifference := strings.CutPrefix(line, "# differs: ")
		switch {
		case r.parse(line):
		case line == "# "+unread:
			c.isUnread = true
		case isHash:
			c.hash = hash
		case isDifference && c.differs == "":
			c.differs, r = why, &c.intended
		default:
			return fmt.Errorf("not a line of an answer: %s", line)
		}
	}
	isOutdated := (c.since != "" || c.hash != "") && c.hash != c.hashNow()
	for _, r := range []*result{&c.expected, &c.intended} {
		switch {
		case r.exit == "":
		case isOutdated:
			r.flaw = outdated
		case c.isUnread && r == &c.expected:
			r.flaw = unread
		default:
			r.flaw = ""
		}
	}
	return nil
}

// hashNow returns the hash of the script. It stands above the answer of a later release, because none that is installed
// can tell that the script has changed since.
func (c *compatCase) hashNow() string { return fmt.Sprintf("%.6x", sha256.Sum256([]byte(c.script))) }

// answers returns the answers as they stand behind the script.
func (c *compatCase) answers() (text string) {
	if c.expected.exit != "" {
		if c.isUnread {
			text = "# " + unread + "\n"
		}
		if c.since != "" {
			text += "# script: " + c.hash + "\n"
		}
		text += c.expected.format()
	}
	if c.differs != "" {
		text += "# differs: " + c.differs + "\n"
		if c.intended.exit != "" {
			text += c.intended.format()
		}
	}
	return text
}

// diff shows where two results differ, as they stand in a case; it returns "" if they are equal.
func diff(want, got result) string {
	return diffLines(want.format(), got.format())
}

// diffLines shows where two texts differ: from the first to the last line that is different, with two lines around.
func diffLines(want, got string) string {
	if want == got {
		return ""
	}
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	head := 0
	for head < len(w) && head < len(g) && w[head] == g[head] {
		head++
	}
	tail := 0
	for tail < len(w)-head && tail < len(g)-head && w[len(w)-1-tail] == g[len(g)-1-tail] {
		tail++
	}
	var b strings.Builder
	show := func(mark string, lines []string) {
		for _, text := range lines {
			fmt.Fprintf(&b, "    %s %s\n", mark, text)
		}
	}
	end := len(w) - tail
	show(" ", w[max(0, head-2):head])
	show("-", w[head:end])
	show("+", g[head:len(g)-tail])
	show(" ", w[end:min(end+2, len(w))])
	return b.String()
}

// TestAnswers reads back what is written of odd results, and finds each flaw of an answer.
func TestAnswers(t *testing.T) {
	for _, want := range []result{
		{exit: "0"}, {exit: "64"}, {exit: "0", stdout: "a"}, {exit: "1", stdout: "\n\n", stderr: " b \n\nc"},
		{exit: "by signal 9", stdout: "#> a\n#= 7\n", stderr: `\ no newline`},
	} {
		c := compatCase{script: "true\n" + want.format()}
		if err := c.cutAnswers(); err != nil || c.expected != want || c.script != "true\n" {
			t.Errorf("%q, %+v, %v; want %+v", c.script, c.expected, err, want)
		}
	}
	hash := (&compatCase{script: "true\n"}).hashNow()
	for _, test := range []struct{ answers, since, flaw, ofOurs string }{
		{"", "", notRecorded, notRecorded},
		{"#> a\n", "", "", notRecorded},
		{"# differs: why\n", "", notRecorded, notRecorded},
		{"#> a\n# differs: why\n#= 0\n", "", "", ""},
		{"# " + unread + "\n#> a\n# differs: why\n#= 0\n", "", unread, ""},
		{"#> a\n# " + unread + "\n", "", unread, notRecorded},
		{"# script: " + hash + "\n#> a\n", "2.43", "", notRecorded},
		{"#> a\n# differs: why\n#= 0\n", "2.43", outdated, outdated},
		{"# script: 0\n#> a\n", "", outdated, notRecorded},
	} {
		c := compatCase{script: "true\n" + test.answers, since: test.since}
		if err := c.cutAnswers(); err != nil || c.expected.flaw != test.flaw || c.intended.flaw != test.ofOurs {
			t.Errorf("%q: %q, %q, %v", test.answers, c.expected.flaw, c.intended.flaw, err)
		}
	}
	for _, answers := range []string{
		"#> a\necho b\n", "#>a\n", "#2>\ta\n", "#> a\n\n#> b\n", "#> a\n# differs: b\n# differs: c\n",
	} {
		if c := (&compatCase{script: "true\n" + answers}); c.cutAnswers() == nil {
			t.Errorf("%q is no answer, and is taken for one: %+v", answers, c)
		}
	}
}

// TestAnswersAreAsRecorded finds files of cases that make record would change although no answer does.
func TestAnswersAreAsRecorded(t *testing.T) {
	texts, err := withAnswers(cases)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range texts {
		if d := diffLines(read(t, path), text); d != "" {
			t.Errorf("%s: make record would write\n%s", path, d)
		}
	}
}

// recordAnswers writes answers into cases/*.sh (make record): of the cases that have none, and of those of later
// releases whose script has changed; with "all" it records them all (make record RECORD=all):
//
//   - the installed util-linux answers the cases that its release knows;
//   - an answer of another release is kept while its script does not change;
//   - where there is no answer, ours answers, and the answer is marked as unread: its test fails until a person has
//     removed the mark;
//   - behind "# differs:" stands what ours answers.
//
// A case that this machine cannot run keeps its answer. Review the result with git diff.
func recordAnswers(which string) error {
	if which != "new" && which != "all" {
		return fmt.Errorf("-record %s: which answers? new or all", which)
	}
	if oursPath == "" {
		return fmt.Errorf("cannot build the flock to be tested: %s", oursMissing)
	}
	ours, err := makeModeWorld("ours", oursPath)
	if err != nil {
		return err
	}
	reference, err := makeModeWorld("reference", referencePath)
	if err != nil {
		return err
	}
	var (
		group sync.WaitGroup
		slots = make(chan bool, 6)
		errs  = make([]error, len(cases))
	)
	for i := range cases {
		c := &cases[i]
		has := c.expected.exit != "" && c.expected.flaw != outdated
		record := which == "all" || !has
		recordOurs := c.differs != "" && (which == "all" || c.intended.flaw != "")
		if c.name != c.answer || !record && !recordOurs {
			continue
		}
		if need := unmetNeed(*c); need != "" {
			fmt.Printf("not recorded: %s needs %s\n", c.name, need)
			continue
		}
		slots <- true
		group.Go(func() {
			defer func() { <-slots }()
			if record && referencePath != "" && releaseKnows(referenceRelease, *c) {
				c.expected, errs[i] = reference.run(*c)
				c.isUnread = false
			} else if !has {
				c.expected, errs[i] = ours.run(*c)
				c.isUnread, c.hash = true, c.hashNow()
			}
			if recordOurs && errs[i] == nil {
				c.intended, errs[i] = ours.run(*c)
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return writeAnswers(cases)
}

// writeAnswers writes the answers into the files of the cases.
func writeAnswers(cases []compatCase) error {
	texts, err := withAnswers(cases)
	if err != nil {
		return err
	}
	for path, text := range texts {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// withAnswers returns the text of each file of cases, by its path, with the answers that the cases have.
func withAnswers(cases []compatCase) (texts map[string]string, err error) {
	texts = map[string]string{}
	isOdd := func(c rune) bool { return c != '\n' && c != '\t' && !strconv.IsPrint(c) }
	for _, c := range cases {
		answers := c.answers()
		if strings.ContainsFunc(answers, isOdd) {
			return nil, fmt.Errorf("case %s: output is not text; send it through od or cat -v", c.name)
		}
		path := filepath.Join("cases", c.file+".sh")
		if texts[path] == "" {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			texts[path], _, _ = strings.Cut(string(text), "\n### ")
		}
		if c.name == c.answer {
			texts[path] += "\n### " + c.text + answers
		}
	}
	return texts, nil
}
