//go:build linux

// Bench compares this flock with that of util-linux and with other lockers that are installed. They take turns in one
// run, because machines are noisy: what counts is the ratio of two medians of one run. It prints tables in Markdown.
//
// Usage: bench [-rounds N] [-parts PART,...] [-svg FILE] FLOCK
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
	svg := flag.String("svg", "", "write a picture of the times of whole runs to this `file`")
	which := flag.String("parts", "runs,waiting,handover,releases,order,idle,readers,directory,empty,guard,report,numbers",
		"what to measure, in that order")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: bench [-rounds N] [-parts PART,...] [-svg FILE] FLOCK")
		os.Exit(64)
	}
	ours, err := filepath.Abs(flag.Arg(0))
	check(err)
	// Measure a copy, as an installed program is one. The linker writes its output through a memory mapping; the kernel
	// then keeps it in small pieces, which are slower to map.
	copied, err := os.MkdirTemp("", "flock-bench")
	check(err)
	defer os.RemoveAll(copied)
	program, err := os.ReadFile(ours)
	check(err)
	ours = filepath.Join(copied, "flock")
	check(os.WriteFile(ours, program, 0o755))
	picture := ""
	if *svg != "" {
		picture, err = filepath.Abs(*svg)
		check(err)
	}
	dir, err := os.MkdirTemp(benchDir(), "flock-bench")
	check(err)
	defer os.RemoveAll(dir)
	check(os.Chdir(dir))
	check(os.WriteFile("true", tinyProgram(false, false), 0o755))
	check(os.WriteFile("stamp", tinyProgram(true, false), 0o755))
	check(os.WriteFile("stamp-read", tinyProgram(true, true), 0o755))
	check(os.WriteFile("script", []byte("#!/bin/sh\n"), 0o755))

	all := findLockers(ours)
	measureRuns := func(all []locker) {
		groups := timeRuns(all, *rounds)
		if picture != "" {
			check(os.WriteFile(picture, []byte(draw(groups)), 0o666))
		}
	}
	parts := map[string]func([]locker){
		"runs": measureRuns, "waiting": measureWaiting, "handover": measureHandOver,
		"releases": measureReleases, "order": measureFairness, "idle": measureLoad, "readers": measureReaders,
		"directory": measureDirectory, "numbers": measureNumbers,
		"empty":  func(all []locker) { measureBesideEmpty(all, *rounds) },
		"guard":  func(all []locker) { measureGuard(all, *rounds) },
		"report": func(all []locker) { measureReport(all, *rounds) },
	}
	for name := range strings.SplitSeq(*which, ",") {
		if parts[name] == nil {
			check(fmt.Errorf("no part is called %q", name))
		}
		parts[name](all)
	}
}

// benchDir returns a directory in memory, where file operations take the least time, or "" for the default.
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
