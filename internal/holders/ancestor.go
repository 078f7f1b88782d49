package holders

import (
	"os"
	"slices"

	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/proc"
)

// Ancestor returns the process that keeps this one out and has started it, perhaps by others; the zero Holder if there
// is none. As a rule such a process waits for this one: the lock is never released. config and op are what this one
// asks for.
func Ancestor(f *lockfile.File, config locks.Config, op locks.Op) Holder {
	pids := ancestors()
	var list []Holder
	if config.Flock || config.Fcntl {
		list = kernelHoldersAmong(pids, f, config, op)
	}
	if len(list) == 0 && config.Directory {
		list = directoryHoldersAmong(pids, f, config, op)
	}
	list = slices.DeleteFunc(replaceGuards(list), func(h Holder) bool { return !slices.Contains(pids, h.PID) })
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

// asksShared reports whether others can hold the lock that is asked for as well, if they do not have it exclusively.
func asksShared(config locks.Config, op locks.Op) bool {
	return op == locks.Shared || config.Permits > 0
}

// directoryHoldersAmong returns those of some processes that hold a directory lock and keep out who asks for one. Of a
// descriptor nothing is known: the lock may be that of its own open file.
func directoryHoldersAmong(pids []int, f *lockfile.File, config locks.Config, op locks.Op) (list []Holder) {
	if !f.ByName {
		return nil
	}
	records, _ := locks.DirectoryHolders(f, config.StateBase)
	for _, r := range records {
		mode := r.Mode.String()
		excludes := !asksShared(config, op) || mode != "shared" && mode != "permit"
		if excludes && !r.Waiting && r.Where == "" && slices.Contains(pids, r.PID) {
			list = append(list, Holder{PID: r.PID, Mode: mode})
		}
	}
	return list
}
