//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// emptyProgram builds a Go program that does nothing, and returns its path.
func emptyProgram() string {
	dir, err := os.MkdirTemp(".", "empty")
	check(err)
	dir, err = filepath.Abs(dir)
	check(err)
	check(os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o666))
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", "empty", "main.go")
	build.Dir, build.Env, build.Stderr = dir, append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	check(build.Run())
	return filepath.Join(dir, "empty")
}

// measureBesideEmpty times whole runs with the directory lock beside a Go program that does nothing: what is more than
// that is the lock and the command.
func measureBesideEmpty(all []locker, rounds int) {
	l := all[slices.IndexFunc(all, func(l locker) bool { return l.name == directory })]
	file, err := os.OpenFile("lock", os.O_RDWR|os.O_CREATE, 0o666)
	check(err)
	defer file.Close()
	unlock := []string{l.run[0], "-u", "9"}
	run := func(words []string) time.Duration { return timeRun(words, l.environ(), file) }
	series := []struct {
		name   string
		words  []string
		before []string // what is run before each, and not timed
		after  []string
	}{
		{"an empty Go program", []string{emptyProgram()}, nil, nil},
		{"with a command (`LOCK true`)", append(slices.Clone(l.run), "./true"), nil, nil},
		{"a descriptor number (`flock 9`)", l.number, nil, unlock},
		{"unlocking a number (`flock -u 9`)", unlock, l.number, nil},
	}
	times := make([][]time.Duration, len(series))
	for range rounds {
		for _, i := range rand.Perm(len(series)) {
			if s := series[i]; s.before != nil {
				run(s.before)
			}
			times[i] = append(times[i], run(series[i].words))
			if s := series[i]; s.after != nil {
				run(s.after)
			}
		}
	}
	base := micros(median(times[0]))
	fmt.Print("\n| the directory lock, whole process | median, µs | beside an empty Go program |\n|---|---:|---:|\n")
	for i, s := range series {
		m := micros(median(times[i]))
		fmt.Printf("| %s | %.0f | %s |\n", s.name, m, ratio(m, base))
	}
}
