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

// sharesWith reports whether a holder of the directory lock keeps out nobody who asks for this.
func (r request) sharesWith(mode string) bool {
	switch {
	case r.config.Permits > 0: // one permit keeps nobody out, but all of them do
		return mode == "shared"
	case r.op == locks.Shared:
		return mode == "shared" || mode == "permit"
	}
	return false
}

// directoryHoldersAmong returns those of some processes that hold a directory lock and keep out who asks for one. Of a
// descriptor nothing is known: the lock may be that of its own open file.
func directoryHoldersAmong(pids []int, f *lockfile.File, r request) (list []Entry) {
	if !f.ByName {
		return nil
	}
	contenders, _ := locks.DirectoryHolders(f, r.config.StateBase)
	for _, h := range contenders {
		mode := h.Mode.String()
		isOneOfSome := r.config.Permits > 0 && mode == "permit"
		excludes := !isOneOfSome && !r.sharesWith(mode)
		if excludes && !h.Waiting && h.Where == "" && slices.Contains(pids, h.PID) {
			list = append(list, Entry{PID: h.PID, Mode: mode})
		}
	}
	return list
}
