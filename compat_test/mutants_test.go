//go:build unix

package compat_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var mutantName = regexp.MustCompile(`\bM\("([a-z0-9-]+)"\)`)

// buildStandin compiles the stand-in with one fault, or with none.
func buildStandin(t *testing.T, mutant string) string {
	path := filepath.Join(workDir, "standin-"+mutant)
	out, err := exec.Command("cc", "-w", "-O1", "-o", path, fmt.Sprintf("-DMUTANT=%q", mutant), "mutants/standin.c", "-lm").CombinedOutput()
	if err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	return path
}

// TestMutants shows that every case can fail: for each there must be a fault of the stand-in that it sees, while it
// passes without one. It takes minutes and a C compiler, so it runs only if FLOCK_MUTANTS is set: to "first", a case
// is done with the first fault that it sees; to "all", every case is run with every fault.
func TestMutants(t *testing.T) {
	mode := os.Getenv("FLOCK_MUTANTS")
	if mode == "" {
		t.Skip("set FLOCK_MUTANTS to first or all")
	}
	source, err := os.ReadFile("mutants/standin.c")
	if err != nil {
		t.Fatal(err)
	}
	var mutants []string
	for _, m := range mutantName.FindAllStringSubmatch(string(source), -1) {
		if !slices.Contains(mutants, m[1]) {
			mutants = append(mutants, m[1])
		}
	}

	var mu sync.Mutex
	caught := map[string][]string{} // faults seen, by case
	seen := map[string]int{}        // cases that see it, by fault
	run := func(mutant string) {
		w := newModeWorld(t, "standin-world-"+mutant, buildStandin(t, mutant))
		defer os.RemoveAll(w.dir)
		// Faults that make a case wait in vain are many. The stand-in without a fault must do with the same.
		w.limit = 8 * time.Second
		w.env = []string{"AWAIT_TRIES=150"}
		var group sync.WaitGroup
		slots := make(chan bool, 6)
		for _, c := range cases {
			mu.Lock()
			done := mode == "first" && len(caught[c.name]) > 0
			mu.Unlock()
			if done || missing(c) != "" {
				continue
			}
			slots <- true
			group.Go(func() {
				defer func() { <-slots }()
				got, err := w.run(c)
				if err != nil {
					t.Error(err)
					return
				}
				if got == expected[c.name] {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if mutant == "" {
					t.Errorf("the stand-in itself is different: %s\n%s", c.name, diff(expected[c.name], got))
					return
				}
				caught[c.name] = append(caught[c.name], mutant)
				seen[mutant]++
			})
		}
		group.Wait()
	}
	run("")
	for _, mutant := range mutants {
		run(mutant)
	}

	var survivors []string
	for _, c := range cases {
		if missing(c) != "" {
			continue
		}
		t.Logf("%-55s %3d %s", c.name, len(caught[c.name]), strings.Join(caught[c.name], " "))
		if len(caught[c.name]) == 0 {
			survivors = append(survivors, c.name)
		}
	}
	for _, mutant := range mutants {
		if mode == "all" && seen[mutant] == 0 {
			t.Errorf("no case sees the fault %s", mutant)
		}
	}
	fmt.Printf("%d cases, %d faults; cases that see none of them: %d %s\n", len(cases), len(mutants), len(survivors), strings.Join(survivors, " "))
	if len(survivors) > 0 {
		t.Errorf("cases that cannot fail: %s", strings.Join(survivors, " "))
	}
}
