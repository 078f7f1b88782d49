//go:build unix

package compat_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const noNewlineInTranscript = `\ no newline at end`

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
		case line == noNewlineInTranscript:
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

// readAnswers reads the answers to the cases: each has them itself, or the transcripts have them.
func readAnswers(cases []compatCase) error {
	for i := range cases {
		if err := cases[i].cutAnswers(); err != nil {
			return fmt.Errorf("cases/%s.sh: case %s: %w", cases[i].file, cases[i].name, err)
		}
	}
	expected, err := readTranscripts(cases, false)
	if err != nil {
		return err
	}
	intended, err := readTranscripts(cases, true)
	if err != nil {
		return err
	}
	for i := range cases {
		if c := &cases[i]; c.expected.exit == "" {
			c.expected = expected[c.name]
		}
		if c := &cases[i]; c.intended.exit == "" {
			c.intended = intended[c.name]
		}
	}
	return nil
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
