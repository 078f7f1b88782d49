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
	pids, r := ancestors(), request{config, op}
	var list []Entry
	if config.Flock || config.Fcntl {
		list = kernelHoldersAmong(pids, f, r)
	}
	if len(list) == 0 && config.Directory {
		list = directoryHoldersAmong(pids, f, r)
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

// A request is what somebody asks for whom others keep out.
type request struct {
	config locks.Config
	op     locks.Op
}

// keepsOut reports whether a holder of the directory lock keeps out, by itself, who asks for a lock.
func (h Entry) keepsOut(r request) bool {
	asksShared := r.op == locks.Shared || r.config.Permits > 0
	return !asksShared || h.Mode != "shared" && h.Mode != "permit"
}

// isInTheWay reports whether it keeps out who asks for a lock, by itself or as one of those that have all permits.
func (h Entry) isInTheWay(r request) bool {
	isOneOfSome := r.config.Permits > 0 && h.Mode == "permit"
	return isOneOfSome || h.keepsOut(r)
}

// directoryHoldersAmong returns those of some processes that hold a directory lock and keep out who asks for one. Of a
// descriptor nothing is known: the lock may be that of its own open file.
func directoryHoldersAmong(pids []int, f *lockfile.File, r request) (list []Entry) {
	if !f.ByName {
		return nil
	}
	contenders, _ := locks.DirectoryHolders(f, r.config.StateBase)
	for _, c := range contenders {
		h := Entry{PID: c.PID, Mode: c.Mode.String()}
		if h.keepsOut(r) && !c.Waiting && c.Where == "" && slices.Contains(pids, h.PID) {
			list = append(list, h)
		}
	}
	return list
}
