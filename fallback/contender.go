package fallback

import (
	"strconv"
	"strings"

	"example.org/flock/internal/sys"
)

// A LockedError is the error of a lock that others hold: it says who they are.
type LockedError struct {
	Dir     string      // the state directory
	Holders []Contender // at least one
}

// Error names the holders, as in "held by process 123 or one that it has started", and adds the Advice about those that
// are Unreachable.
func (e *LockedError) Error() string {
	return e.list(func(h Contender) string {
		if h.Unreachable {
			return h.String() + " (" + h.Advice + ")"
		}
		return h.String()
	})
}

// Names is Error without advice, for a process that still waits: mostly the holders are just not done.
func (e *LockedError) Names() string { return e.list(Contender.String) }

func (e *LockedError) list(describe func(Contender) string) string {
	s := "held by "
	for i, h := range e.Holders {
		switch {
		case i == 4 && len(e.Holders) > 5:
			return s + " and " + strconv.Itoa(len(e.Holders)-i) + " others"
		case i > 0 && i == len(e.Holders)-1:
			s += " and "
		case i > 0:
			s += ", "
		}
		s += describe(h)
	}
	return sys.Printable(s)
}

// String names the holder.
func (h Contender) String() string {
	s := "process " + strconv.Itoa(h.PID)
	if h.PID == 0 {
		s = "a process"
	}
	if h.Mode == Busy {
		s += ", which is taking or releasing it"
	}
	if h.Where != "" {
		s += " " + h.Where
	}
	if !h.Unreachable && !h.Seen && h.PID != 0 {
		s += " or one that it has started"
	}
	return s
}

// A Contender holds the lock, or waits for it.
type Contender struct {
	// PID is the process id. It is 0 where the process cannot be seen, or is in another pid namespace of this machine.
	// On another machine, or by another mount of the filesystem, it is the id there.
	PID int
	// Seen says that the process was seen to have the lock, or to wait for it. Otherwise it is the one that took the
	// lock; it may have ended, and left the lock to a process that it started.
	Seen bool
	// Host is the name of its machine, for people to read.
	Host string
	Mode Mode
	// Waiting says that it does not hold the lock yet.
	Waiting bool
	// Unreachable says that this process cannot tell whether the holder lives.
	Unreachable bool
	// Path is the name to remove if the holder is Unreachable and you know that it is gone. Rename that of a Busy one
	// to "free" instead.
	Path string
	// Advice says what to do if the holder is Unreachable: where, and as whom, a flock can judge it, and what to remove
	// if that is not possible.
	Advice string
	// Where says where it runs, if not here, or else what is known of it: "on host b", "that has inherited it". It is
	// printable.
	Where string
}

// describe returns what is known of a record in the state directory dir without a look at other processes.
func (a *attempt) describe(dir string, r record) Contender {
	h := Contender{
		PID:         r.owner.pid,
		Host:        r.owner.host,
		Mode:        r.mode,
		Path:        dir + "/" + r.name,
		Unreachable: r.verdict == doubtful,
	}
	if r.file != nil {
		h.PID = r.file.PID
	}
	m := a.Machine()
	h.Where = sys.Printable(m.where(r.owner.machine))
	switch {
	case h.Where != "":
		if m.relation(r.owner.machine) == askable { // the id means another process here
			h.PID = 0
		}
	case r.file != nil:
		h.Seen = r.verdict == seen
	default: // only who holds the lock leaves its lifeline to others
		h.Seen = r.verdict == held && (r.mode == Busy || strings.HasPrefix(r.name, waitName))
	}
	if h.Unreachable {
		h.Advice = m.advice(dir, r)
	}
	return h
}

// advice says what to do about a holder that may be gone, which this process cannot know. Who can asks for the lock, as
// each contender does, and so removes it.
func (m machine) advice(dir string, r record) string {
	path := dir + "/" + r.name
	byHand := "that process and all that it has started are gone, remove " + path
	if r.mode == Busy {
		byHand = "that process is gone, rename " + path + " to " + free
	}
	if m.isOtherBoot(r.owner.machine) || r.owner.isAnonymous() { // no flock can judge it
		return "if " + byHand
	}
	return Command(lockedPath(dir)) + m.whoJudges(r) + " frees it if nobody has it any more; if it does not, and " + byHand
}

// Command returns a command that asks for the lock on a file whose state directory was made with that base (see
// StateDir); the path is "" if it is unknown. A program sets it, for the Advice.
var Command = func(path, base string) string { return "a call for this lock" }

// whoJudges says where, and as whom, a flock can judge a holder that one on machine m, as its user, cannot.
func (m machine) whoJudges(r record) string {
	where := ""
	switch m.relation(r.owner.machine) {
	case otherMachine:
		where = " there"
	case otherMount:
		where = " by that mount"
	}
	theirs, isHere := r.owner.user, m.relation(r.owner.machine) == askable
	switch {
	case r.file == nil: // everybody there can ask for a lifeline
		return where
	case !r.owner.pidNS.isInitial():
		return where + " in its container as user " + theirs.number + ", or as root outside of containers,"
	case theirs.number == "0", isHere && m.user.is(theirs):
		return where + " as root"
	case isHere && theirs.number == m.user.number:
		return where + " as user " + theirs.number + " in group " + theirs.group + ", or as root,"
	}
	return where + " as user " + theirs.number + " or root"
}
