//go:build linux

package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
)

// A locker is a program that runs a command under a lock.
type locker struct {
	name   string
	env    []string
	run    []string // the words before the command
	noFork []string // the same with exec instead of fork; nil if it cannot do that
	number []string // the words that lock descriptor 9; nil if it cannot do that
	flock  bool     // has the options of flock(1)
}

const (
	thisFlock = "flock (this one)"
	reference = "flock (util-linux)"
	directory = "flock (this one), directory"
)

// findLockers returns ours, util-linux, and the other lockers that are installed.
func findLockers(ours string) []locker {
	flock := func(name, path string, env ...string) locker {
		return locker{name, env, []string{path, "lock"}, []string{path, "-F", "lock"}, []string{path, "9"}, true}
	}
	all := []locker{flock(thisFlock, ours), flock(directory, ours, "FLOCK_BACKEND=directory")}
	if path, err := exec.LookPath("flock"); err == nil && isUtilLinux(path) {
		all = append(all, flock(reference, path))
	}
	others := []struct {
		name, program string
		run, number   []string
	}{
		{"flock (busybox)", "busybox", []string{"flock", "lock"}, []string{"flock", "9"}},
		{"flock (toybox)", "toybox", nil, []string{"flock", "9"}},
		{"lckdo", "lckdo", []string{"-w", "lock"}, nil},
		{"setlock (daemontools)", "setlock", []string{"lock"}, nil},
		{"chpst (runit)", "chpst", []string{"-l", "lock"}, nil},
		{"s6-setlock", "s6-setlock", []string{"lock"}, nil},
		{"sem (parallel)", "sem", []string{"--fg", "--id", "bench"}, nil},
	}
	for _, o := range others {
		path, err := exec.LookPath(o.program)
		if err != nil {
			continue
		}
		l := locker{name: o.name}
		if o.run != nil {
			l.run = append([]string{path}, o.run...)
		}
		if o.number != nil {
			l.number = append([]string{path}, o.number...)
		}
		if l.works() {
			all = append(all, l)
		}
	}
	for _, o := range []struct{ program, take, free string }{
		{"lockfile", "lockfile -1 lock.lockfile", "rm -f lock.lockfile"},
		{"dotlockfile", "dotlockfile -p lock.dot", "dotlockfile -u lock.dot"},
	} {
		if _, err := exec.LookPath(o.program); err == nil {
			script := o.take + " && { \"$@\"; " + o.free + "; }"
			all = append(all, locker{name: o.program + " (in sh)", run: []string{"/bin/sh", "-c", script, "sh"}})
		}
	}
	return all
}

// works reports whether the program can run a command under a lock: busybox, for example, is often built without flock.
func (l locker) works() bool {
	return l.run == nil || exec.Command(l.run[0], append(slices.Clone(l.run[1:]), "./true")...).Run() == nil
}

func isUtilLinux(path string) bool {
	out, err := exec.Command(path, "--version").Output()
	words := strings.Fields(string(out)) // ours says more
	return err == nil && len(words) == 4 && words[2] == "util-linux"
}

// environ returns an environment without a locale. With one, util-linux reads more files.
func (l locker) environ() []string { return append(append(os.Environ(), "LC_ALL=C"), l.env...) }
