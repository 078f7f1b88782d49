package holders

import (
	"os"
	"slices"

	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/proc"
)

// Ancestor returns the process that keeps this one out and has started it, perhaps by others; the zero Entry if there
// is none. As a rule such a process waits for this one: the lock is never released. config and op are what this one
// asks for.
func Ancestor(f *lockfile.File, config locks.Config, op locks.Op) Entry {
	if config.Permits > 0 { // who has one of several keeps this one out only together with the others
		config.Permits, op = 0, locks.Shared
	}
	// Of an open file nothing is known of a directory lock, which may be its own.
	config.Directory = config.Directory && f.ByName
	pids := ancestors()
	list, _ := find(f, query{Config: config, op: op, among: pids})
	isOther := func(h Entry) bool { return !h.isSeen() || !slices.Contains(pids, h.PID) }
	first, _ := List{All: slices.DeleteFunc(list.All, isOther)}.Oldest()
	return first
}

// ancestors returns the process that has started this one, the one that has started that, and so on.
func ancestors() (pids []int) {
	for pid := os.Getppid(); pid > 0 && !slices.Contains(pids, pid); pid = proc.Parent(pid) {
		pids = append(pids, pid)
	}
	return pids
}
