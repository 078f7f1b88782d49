//go:build unix

package compat_test

import (
	"errors"
	"fmt"
	"sync"
)

// recordTranscripts writes transcripts/*.txt again (make record). It records the answers to new cases and to those
// whose script has changed, and keeps the others; with "all" it records them all (make record RECORD=all):
//
//   - the installed util-linux answers the cases that its release knows;
//   - an answer of another release is kept while its script does not change;
//   - where there is no answer, ours answers, and the answer is marked as unread: its test fails until a person has
//     removed the mark;
//   - transcripts/ours.txt has what ours answers where a difference is intended.
//
// A case that this machine cannot run keeps its answer. Review the result with git diff.
func recordTranscripts(which string) error {
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
		mu    sync.Mutex
		group sync.WaitGroup
		slots = make(chan bool, 6)
		errs  []error
	)
	answer := func(w *world, c compatCase, to map[string]result, flaw string) {
		r, err := w.run(c)
		r.flaw = flaw
		mu.Lock()
		defer mu.Unlock()
		to[c.name] = r
		errs = append(errs, err)
	}
	for _, c := range cases {
		mu.Lock()
		has, hasOurs := expected[c.name].exit != "", intended[c.name].exit != ""
		mu.Unlock()
		record := which == "all" || !has
		recordOurs := c.differs != "" && (which == "all" || !hasOurs)
		if !record && !recordOurs {
			continue
		}
		if need := unmetNeed(c); need != "" {
			fmt.Printf("not recorded: %s needs %s\n", c.name, need)
			continue
		}
		slots <- true
		group.Go(func() {
			defer func() { <-slots }()
			if record && referencePath != "" && releaseKnows(referenceRelease, c) {
				answer(reference, c, expected, "")
			} else if !has {
				answer(ours, c, expected, unread)
			}
			if recordOurs {
				answer(ours, c, intended, "")
			}
		})
	}
	group.Wait()
	return errors.Join(append(errs, writeTranscripts(cases, expected, false),
		writeTranscripts(cases, intended, true))...)
}
