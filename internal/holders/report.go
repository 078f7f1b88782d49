package holders

import (
	"bytes"
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
	cooldown := slices.IndexFunc(l.All, func(h Holder) bool { return h.Cooldown })
	holder, more := l.Eldest()
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
	Holder
	parent  int
	isFlock bool
}

// Eldest returns the process that has held the lock for longest, the zero Holder if there is none, and how many more
// there are. Of processes that have it from each other, one counts: the command, not the flock that runs it; otherwise
// the parent, not its children. This process does not count.
func (l List) Eldest() (first Holder, more string) {
	members := l.members()
	runsCommand := func(m member) bool {
		return m.isFlock && slices.ContainsFunc(members, func(child member) bool { return child.parent == m.PID })
	}
	n := 0
	for _, m := range members {
		isParent := func(p member) bool { return p.PID == m.parent && m.parent != 0 && !runsCommand(p) }
		if runsCommand(m) || slices.ContainsFunc(members, isParent) {
			continue
		}
		if n++; n == 1 || m.age() > first.age() {
			first = m.Holder
		}
	}
	if n > 1 {
		more = ", and " + strconv.Itoa(n-1) + " more"
	}
	return first, more
}

// members returns who holds the lock, without this process and those that have ended.
func (l List) members() (members []member) {
	for _, h := range l.All {
		if h.Waiting || h.Cooldown || h.PID == os.Getpid() {
			continue
		}
		m := member{Holder: h}
		if h.isSeen() {
			m.parent = parent(h.PID)
			command := proc.Command(h.PID) // after the parent, which is then that of a process which lives
			if command == "" {
				continue
			}
			m.isFlock = isFlock(h.PID, command)
		}
		members = append(members, m)
	}
	return members
}

// parent returns the parent of a process, as it is without the guard of a command.
func parent(pid int) int {
	parent := proc.Parent(pid)
	if guard.IsGuard(proc.Command(parent)) {
		return proc.Parent(parent)
	}
	return parent
}

// replaceGuards puts what they guard in the place of guards, which have the lock for as long as that lives.
func replaceGuards(list []Holder) (all []Holder) {
	var guarded []Holder
	for _, h := range list {
		if !h.isSeen() || !guard.IsGuard(proc.Command(h.PID)) {
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
		isListed := func(other Holder) bool { return other.PID == h.PID && other.Waiting == h.Waiting }
		if !slices.ContainsFunc(all, isListed) {
			all = append(all, h)
		}
	}
	return all
}

// isFlock reports whether a process is a flock: this program, or one that is called so.
func isFlock(pid int, command string) bool {
	program, _, _ := strings.Cut(command, " ")
	if name := path.Base(program); name == "flock" || name == "flock-go" {
		return true
	}
	self, err := os.Stat("/proc/self/exe")
	if err != nil {
		return false
	}
	exe := "/proc/" + strconv.Itoa(pid) + "/exe"
	its, err := os.Stat(exe)
	if err != nil || its.Size() != self.Size() {
		return false
	}
	if os.SameFile(self, its) {
		return true
	}
	ours, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return false
	}
	copied, err := os.ReadFile(exe)
	return err == nil && bytes.Equal(ours, copied)
}

// age returns how long ago the process was started, 0 if that is unknown.
func (h Holder) age() time.Duration {
	if h.isSeen() {
		return proc.Age(h.PID)
	}
	return 0
}

// ageColumn returns the age as one word, "-" if it is unknown.
func (h Holder) ageColumn() string {
	age := h.age()
	if age <= 0 {
		return "-"
	}
	return strings.ReplaceAll(output.FormatAge(age), " ", "")
}

// Name names the process for a message.
func (h Holder) Name() string {
	const longest = 80 // bytes of a command line
	what := h.Note
	switch {
	case h.PID == 0 && what == "":
		return "another process"
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
