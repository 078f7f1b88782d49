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
	pids, q := ancestors(), query{Config: config, op: op}
	var list []Entry
	if config.Flock || config.Fcntl {
		list = kernelHoldersAmong(pids, f, q)
	}
	if len(list) == 0 && config.Directory {
		list = directoryHoldersAmong(pids, f, q)
	}
	list = slices.DeleteFunc(replaceGuards(list), func(h Entry) bool { return !slices.Contains(pids, h.PID) })
	first, _ := List{All: list}.Oldest()
	return first
}

// ancestors returns the process that has started this one, the one that has started that, and so on.
func ancestors() (pids []int) {
	for pid := os.Getppid(); pid > 0 && !slices.Contains(pids, pid); pid = proc.Parent(pid) {
		pids = append(pids, pid)
	}
	return pids
}

// directoryHoldersAmong returns those of some processes that hold a directory lock and keep out who asks for one. Of a
// descriptor nothing is known: the lock may be that of its own open file.
func directoryHoldersAmong(pids []int, f *lockfile.File, q query) (list []Entry) {
	if !f.ByName {
		return nil
	}
	contenders, _ := locks.DirectoryHolders(f, q.StateBase)
	for _, c := range contenders {
		h := Entry{PID: c.PID, Mode: c.Mode.String(), Waiting: c.Waiting}
		if q.wants(h) && c.Where == "" && slices.Contains(pids, h.PID) {
			list = append(list, h)
		}
	}
	return list
}
