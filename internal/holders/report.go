package holders

import (
	"os"
	"os/user"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/flock/internal/guard"
	"example.org/flock/internal/output"
	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

// State says why the lock cannot be had, as far as that is known. cools says that a cooldown is a reason.
func (l List) State(cools bool) string {
	cooldown := slices.IndexFunc(l.All, func(h Entry) bool { return h.Cooldown })
	holder, more := l.Oldest()
	if holder.Mode == "" && cooldown >= 0 && cools {
		return "in its cooldown " + l.All[cooldown].Note
	}
	if age := holder.age(); age > 0 {
		more = ", running for " + output.FormatAge(age) + more
	}
	return "held by " + holder.Name() + more
}

// A member is a process among those that hold the lock.
type member struct {
	Entry
	parent  int
	isFlock bool
}

// Oldest returns the process that has held the lock for longest, the zero Entry if there is none, and how many more
// there are. Of processes that inherited it from each other, one counts: the command, not the flock that runs it;
// otherwise the parent, not its children. This process does not count.
func (l List) Oldest() (first Entry, more string) {
	all := l.group()
	n := 0
	for _, m := range all {
		if m.isCovered(all) {
			continue
		}
		if n++; n == 1 || m.age() > first.age() {
			first = m.Entry
		}
	}
	if n > 1 {
		more = ", and " + strconv.Itoa(n-1) + " more"
	}
	return first, more
}

// group returns who holds the lock, without this process and those that have ended.
func (l List) group() (all []member) {
	for _, h := range l.All {
		if h.Waiting || h.Cooldown || h.PID == os.Getpid() {
			continue
		}
		m := member{Entry: h}
		if h.isSeen() {
			m.parent = parent(h.PID)
			command := proc.Command(h.PID) // after the parent, which is then that of a process which lives
			if command == "" {
				continue
			}
			m.isFlock = isFlock(h.PID, command)
		}
		all = append(all, m)
	}
	return all
}

// isCovered reports whether another member stands for one: the command for the flock that runs it, or its parent, if
// that does not run it as a command.
func (m member) isCovered(all []member) bool {
	return slices.ContainsFunc(all, func(other member) bool {
		return m.isFlock && other.parent == m.PID || m.parent != 0 && other.PID == m.parent && !other.isFlock
	})
}

// parent returns the parent of a process, as it is without the guard of a command.
func parent(pid int) int {
	parent := proc.Parent(pid)
	if isHelper(parent) {
		return proc.Parent(parent)
	}
	return parent
}

// replaceGuards puts what they guard in the place of guards, which have the lock for as long as that lives.
func replaceGuards(list []Entry) (all []Entry) {
	var guarded []Entry
	for _, h := range list {
		if !h.isSeen() || !isHelper(h.PID) {
			all = append(all, h)
			continue
		}
		for _, pid := range proc.Children(h.PID) {
			child := h
			child.PID = pid
			guarded = append(guarded, child)
		}
	}
	for _, h := range guarded {
		isListed := func(other Entry) bool { return other.PID == h.PID && other.Waiting == h.Waiting }
		if !slices.ContainsFunc(all, isListed) {
			all = append(all, h)
		}
	}
	return all
}

// isHelper reports whether a process is one that a flock has started for itself, a guard: it executes flock's own
// program. Its words alone could be those of any process.
func isHelper(pid int) bool { return guard.IsGuard(proc.Command(pid)) && executesFlock(pid) }

// isFlock reports whether a process is a flock: it is called so, as that of BusyBox is, or executes one.
func isFlock(pid int, command string) bool {
	program, _, _ := strings.Cut(command, " ")
	return isNameOfFlock(program) || executesFlock(pid)
}

func isNameOfFlock(program string) bool {
	name := path.Base(program)
	return name == "flock" || name == "flock-go"
}

// executesFlock reports whether a process executes a program that is called flock, perhaps one that was replaced
// meanwhile, or this program.
func executesFlock(pid int) bool {
	exe := "/proc/" + strconv.Itoa(pid) + "/exe"
	if link, err := os.Readlink(exe); err == nil && isNameOfFlock(strings.TrimSuffix(link, " (deleted)")) {
		return true
	}
	self, err := os.Stat("/proc/self/exe")
	if err != nil {
		return false
	}
	its, err := os.Stat(exe)
	return err == nil && os.SameFile(self, its)
}

// age returns how long ago the process was started, 0 if that is unknown.
func (h Entry) age() time.Duration {
	if h.isSeen() {
		return proc.Age(h.PID)
	}
	return 0
}

// ageColumn returns the age as one word, "-" if it is unknown.
func (h Entry) ageColumn() string {
	age := h.age()
	if age <= 0 {
		return "-"
	}
	return strings.ReplaceAll(output.FormatAge(age), " ", "")
}

// Name names the process for a message.
func (h Entry) Name() string {
	const longest = 80 // bytes of a command line
	what := h.Note
	switch {
	case h.PID == 0 && what == "":
		return anotherProcess
	case h.PID == 0:
		return what
	case what == "":
		if what = proc.Command(h.PID); len(what) > longest {
			what = strings.ToValidUTF8(what[:longest], "") + "..." // which may end in the middle of a character
		}
	}
	name := "process " + strconv.Itoa(h.PID)
	if what != "" && what != "-" {
		name += " (" + what + ")"
	}
	return sys.Printable(name)
}

// userOf returns the name of the user whose process it is, or the user's number.
func userOf(pid int) string {
	uid := proc.UserID(pid)
	if uid == "" {
		return "-"
	}
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return uid
}
