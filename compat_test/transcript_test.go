//go:build unix

package compat_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A result is what a user sees of a case: the script's exit status and its two outputs, normalised.
type result struct {
	exit           string // decimal, or "hung"
	stdout, stderr string

	flaw string // why a recorded answer is not valid; empty if it is
}

// The flaws that a recorded answer can have.
const (
	notRecorded = "no answer is recorded: run make record"
	outdated    = "the script has changed since the answer was recorded: run make record"
	unread      = "unread: this answer is our own; compare it with what the reference documents, then remove this line"
)

const noNewline = `\ no newline at end`

// format returns a result in the form of a transcript file.
func (r result) format() string {
	var b strings.Builder
	if r.flaw != "" {
		fmt.Fprintln(&b, r.flaw)
	}
	fmt.Fprintf(&b, "exit %s\n", r.exit)
	for _, out := range []struct{ name, text string }{{"stdout", r.stdout}, {"stderr", r.stderr}} {
		if out.text == "" {
			continue
		}
		fmt.Fprintln(&b, out.name)
		body, whole := strings.CutSuffix(out.text, "\n")
		for _, line := range strings.Split(body, "\n") {
			fmt.Fprintf(&b, "  %s\n", line)
		}
		if !whole {
			fmt.Fprintln(&b, noNewline)
		}
	}
	return b.String()
}

func parseResult(text string) (result, error) {
	var r result
	if rest, ok := strings.CutPrefix(text, unread+"\n"); ok {
		r.flaw, text = unread, rest
	}
	first, rest, _ := strings.Cut(text, "\n")
	exit, ok := strings.CutPrefix(first, "exit ")
	if !ok {
		return r, fmt.Errorf("no exit status but %q", first)
	}
	r.exit = exit
	var out *string
	for _, line := range strings.Split(strings.TrimRight(rest, "\n"), "\n") {
		switch {
		case line == "stdout":
			out = &r.stdout
		case line == "stderr":
			out = &r.stderr
		case line == "":
		case out == nil:
			return r, fmt.Errorf("neither stdout nor stderr: %q", line)
		case line == noNewline:
			*out = strings.TrimSuffix(*out, "\n")
		case strings.HasPrefix(line, "  "):
			*out += line[2:] + "\n"
		default:
			return r, fmt.Errorf("line not indented: %q", line)
		}
	}
	return r, nil
}

// transcriptFile returns the file that holds the answer to a case: that of util-linux, or, for an intended difference,
// ours.
func transcriptFile(c compatCase, ours bool) string {
	if ours {
		return filepath.Join("transcripts", "ours.txt")
	}
	return filepath.Join("transcripts", c.file+".txt")
}

// heading returns the line of a transcript file above an answer: the name of the case that has the answer, and the hash
// of its script. The script itself is only in the case file. If the hash differs, the script has changed since the
// answer was recorded.
func heading(c compatCase) string {
	return fmt.Sprintf("%s %.6x", c.answer, sha256.Sum256([]byte(c.script)))
}

// readTranscripts returns the answer to every case, by name.
func readTranscripts(cases []compatCase, ours bool) (map[string]result, error) {
	texts := map[string]map[string]string{} // by file, then by heading
	found := map[string]result{}
	for _, c := range cases {
		path := transcriptFile(c, ours)
		if texts[path] == nil {
			text, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
			texts[path] = map[string]string{}
			for _, block := range splitBlocks(string(text)) {
				head, rest, _ := strings.Cut(block, "\n")
				name, _, _ := strings.Cut(head, " ")
				texts[path][head], texts[path][name] = rest, rest
			}
		}
		r := result{flaw: notRecorded}
		if text, ok := texts[path][heading(c)]; ok {
			var err error
			if r, err = parseResult(text); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", path, c.name, err)
			}
		} else if texts[path][c.answer] != "" {
			r.flaw = outdated
		}
		found[c.name] = r
	}
	return found, nil
}

func writeTranscripts(cases []compatCase, results map[string]result, ours bool) error {
	texts := map[string]*strings.Builder{}
	var order []string
	written := map[string]bool{}
	for _, c := range cases {
		r := results[c.name]
		if r.exit == "" || ours && c.differs == "" || written[heading(c)] {
			continue
		}
		written[heading(c)] = true
		isOdd := func(c rune) bool { return c != '\n' && c != '\t' && !strconv.IsPrint(c) }
		if strings.ContainsFunc(r.stdout+r.stderr, isOdd) {
			return fmt.Errorf("case %s: output is not text; send it through od or cat -v", c.name)
		}
		path := transcriptFile(c, ours)
		if texts[path] == nil {
			texts[path] = &strings.Builder{}
			order = append(order, path)
		} else {
			texts[path].WriteString("\n")
		}
		fmt.Fprintf(texts[path], "### %s\n%s", heading(c), r.format())
	}
	for _, path := range order {
		if err := os.WriteFile(path, []byte(texts[path].String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// diff shows where two results differ, in the form of a transcript; it returns "" if they are equal.
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
