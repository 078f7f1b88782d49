package compat_test

import (
	"strings"
	"testing"
)

// Limits of memory for the Go runtime, in KiB: little more than the least with which it has started, enough for each
// run, as flock tells the user, and a fifth less than the least.
var memoryLimits = []struct{ option, least, enough, below, line string }{
	{"-v", "706000", "781250", "563200", "flock: cannot start: ulimit -v leaves less than the 800 MB that this needs"},
	{"-d", "41000", "48828", "32360", "flock: cannot start: ulimit -d leaves less than the 50 MB that this needs"},
}

// TestEarlyMemoryLimit runs what needs the Go runtime under limits of memory: with a fifth less than the least there is
// always a line, and with enough it works. Where some runs work, none is refused.
func TestEarlyMemoryLimit(t *testing.T) {
	needEarlyRun(t)
	forms := []string{"--version", "--verbose f true", "--report 0 f true", "-u --permits 2 9", "/no/f true", "-w x f"}
	for _, limit := range memoryLimits {
		t.Run(limit.option, func(t *testing.T) {
			below := runScript(t, `ulimit `+limit.option+` `+limit.below+`
				for i in 1 2 3; do for form in '`+strings.Join(forms, "' '")+`'; do flock $form; echo $?; done; done 2>&1`)
			if want := strings.Repeat(limit.line+"\n71\n", 3*len(forms)); below != want {
				t.Errorf("with %s: %q; want %q", limit.below, below, want)
			}
			enough := runScript(t, `ulimit `+limit.option+` `+limit.enough+`
				for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do flock --report 0 f echo in; done 2>&1`)
			if want := strings.Repeat("in\n", 20); enough != want {
				t.Errorf("with %s: %q; want %q", limit.enough, enough, want)
			}
			// An option behind the file is told without waiting for the lock, as where there is no limit.
			misplaced := runScript(t, `ulimit `+limit.option+` `+limit.enough+`0
				exec 9>g; flock 9; flock g -n true 2>&1; echo $?`)
			if !strings.HasPrefix(misplaced, "flock: failed to execute -n") || !strings.HasSuffix(misplaced, "\n69\n") {
				t.Errorf("with %s0: %q", limit.enough, misplaced)
			}
			// Those that fail end with a dump of the runtime's stacks.
			least := runScript(t, `ulimit `+limit.option+` `+limit.least+`
				for i in 1 2 3 4 5 6 7 8 9 10; do flock --version; done 2>&1`)
			if strings.Contains(least, "leaves less than") {
				t.Errorf("with %s: %q", limit.least, least)
			}
		})
	}
}

// TestEarlyTellsWithLittleMemory asserts that a command which cannot be executed is told in the same words where the Go
// runtime cannot start.
func TestEarlyTellsWithLittleMemory(t *testing.T) {
	needEarlyRun(t)
	script := func(limit string) string {
		return limit + `
			mkdir dir; echo x >not-executable; exec 9>>g 8>&2
			tell() { "$@" 2>lines; status=$?; head -n 1 lines; cat h; echo $status; }
			: >h
			tell flock -n f /nonexistent
			tell flock -F f /nonexistent
			tell flock -o f no-such-program
			tell flock --fd 9 ./dir
			tell flock -s f ./not-executable
			tell env SHELL=/nosh flock f -c true
			tell sh -c 'exec flock --fcntl h /nonexistent 2>&-'
			tell flock f sh -c 'exit 3'`
	}
	want, got := runScript(t, script("")), runScript(t, script("ulimit -v 200000"))
	if want != got || strings.Count(got, "failed to execute") != 6 {
		t.Errorf("%s\nwith memory:\n%s", got, want)
	}
}
