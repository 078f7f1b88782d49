//go:build linux

// Bench measures this flock beside util-linux's and whatever other lockers are
// installed, all in one run, taking turns, since machines are noisy: what
// counts is the ratio of two medians of one run. It prints tables in Markdown.
//
// Usage: bench [-rounds N] [-parts PART,...] FLOCK
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	rounds := flag.Int("rounds", 500, "runs of each command")
	which := flag.String("parts", "runs,waiting,handover,releases,order,idle,readers", "what to measure, in that order")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: bench [-rounds N] [-parts PART,...] FLOCK")
		os.Exit(64)
	}
	ours, err := filepath.Abs(flag.Arg(0))
	check(err)
	dir, err := os.MkdirTemp(benchDir(), "flock-bench")
	check(err)
	defer os.RemoveAll(dir)
	check(os.Chdir(dir))
	check(os.WriteFile("true", tinyProgram(false, false), 0o755))
	check(os.WriteFile("stamp", tinyProgram(true, false), 0o755))
	check(os.WriteFile("stamp-read", tinyProgram(true, true), 0o755))
	check(os.WriteFile("script", []byte("#!/bin/sh\n"), 0o755))

	all := lockers(ours)
	parts := map[string]func([]locker){
		"runs": func(all []locker) { wholeRuns(all, *rounds) }, "waiting": waiting, "handover": handOver,
		"releases": releases, "order": order, "idle": idle, "readers": readers,
	}
	for name := range strings.SplitSeq(*which, ",") {
		if parts[name] == nil {
			check(fmt.Errorf("no part is called %q", name))
		}
		parts[name](all)
	}
}

// benchDir is where files cost least, so that the lockers show.
func benchDir() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
