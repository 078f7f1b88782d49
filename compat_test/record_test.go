//go:build unix

package compat_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// recordAnswers writes answers into cases/*.sh (make record): of the cases that have none, and of those of later releases
// whose script has changed; with "all" it records them all (make record RECORD=all):
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
