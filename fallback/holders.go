package fallback

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/flock/fallback/openfile"
	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

// ErrLocked is what errors.Is finds in the error of a lock that others hold. That error is a *LockedError.
var ErrLocked = errors.New("locked by another holder")

// A LockedError says who holds the lock. errors.Is finds ErrLocked in it and, if the deadline of a context has passed,
// context.DeadlineExceeded.
type LockedError struct {
	Dir     string      // the state directory
	Holders []Contender // at least one

	cause error // nil, or context.DeadlineExceeded
}

func (e *LockedError) Is(target error) bool { return target == ErrLocked }
func (e *LockedError) Unwrap() error        { return e.cause }

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
	if r.moved != nil {
		h.PID = r.moved.PID
	}
	m := a.Machine()
	h.Where = sys.Printable(m.where(r.owner.machine))
	switch {
	case h.Where != "":
		if m.relation(r.owner.machine) == askable { // the id means another process here
			h.PID = 0
		}
	case r.file != nil:
		h.Seen = r.isSeen
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
	return callFor(dir) + m.whoJudges(r) + " frees it if nobody has it any more; if it does not, and " + byHand
}

// callFor returns a command that asks for the lock with the state directory dir.
func callFor(dir string) string {
	path, base := lockedPath(dir)
	switch {
	case path == "":
		return "a flock of this lock"
	case base != "":
		base = "FLOCK_DIR=" + quoted(base) + " "
	}
	return `"` + base + "flock --backend directory -n " + quoted(path) + ` true" (flock-go where it is not diverted)`
}

// quoted returns an absolute path as a word of a shell.
func quoted(path string) string {
	const special = " \t\n!\"#$&'()*;<>?[\\]^`{|}~"
	if !strings.ContainsAny(path, special) || filepath.Separator == '\\' && !strings.Contains(path, " ") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

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

// everybody returns all who hold the lock, and then all who wait for it.
func (a *attempt) everybody(dir string) (hs []Contender, err error) {
	s, err := a.lookSettled()
	if err != nil {
		return nil, err
	}
	var holders []record
	for _, r := range s.holders {
		if r.verdict == over || !a.isOfOurFile(r) {
			continue // it keeps nobody out
		}
		if r.moved != nil {
			r.file = r.moved // where its processes are looked for
		}
		holders = append(holders, r)
	}
	hs = a.describeAll(dir, holders)
	slices.SortStableFunc(hs, func(a, b Contender) int { return cmp.Compare(a.PID, b.PID) })
	for _, h := range a.describeAll(dir, a.living(s.waiters)) {
		h.Waiting = true
		hs = append(hs, h)
	}
	return hs, nil
}

// living returns the records of those waiters that may live.
func (a *attempt) living(waiters []string) (rs []record) {
	for _, name := range waiters {
		r, ok := parseRecord(name)
		if r.verdict = a.judgeLifeline(name); ok && r.verdict != over {
			rs = append(rs, r)
		}
	}
	return rs
}

// describeAll describes the processes that have what these records stand for, or the records themselves, if no process
// is seen. A process is described once for each mode: of several shared locks that a search has found nothing tells
// which process has which.
func (a *attempt) describeAll(dir string, rs []record) (hs []Contender) {
	openers, told := a.Openers(rs)
	for _, r := range rs {
		h, pids := a.describe(dir, r), openers[r.name]
		if len(pids) == 0 {
			hs = append(hs, a.describeUnseen(h, r, told))
			continue
		}
		h.Where, h.Unreachable, h.Seen = "", false, true
		for _, h.PID = range pids {
			isAgain := func(o Contender) bool { return o.Seen && o.PID == h.PID && o.Mode == h.Mode }
			if !slices.ContainsFunc(hs, isAgain) {
				hs = append(hs, h)
			}
		}
	}
	return hs
}

// describeUnseen completes h, which describes a record that no process was seen to have.
func (a *attempt) describeUnseen(h Contender, r record, told openfile.Telling) Contender {
	if told == openfile.TellsNothing || h.Where != "" || h.Seen || a.lives(r) {
		return h
	}
	h.PID = 0 // it has left the lock to another process, or has released it
	hasGone := r.file == nil && a.judgeLifeline(r.name) == over
	if told == openfile.TellsSome && !hasGone {
		h.Where = "that this user may not see"
	}
	return h
}

// lives reports whether the process that a record names still runs.
func (a *attempt) lives(r record) bool {
	recorded, current := a.startsOf(r)
	return recorded != 0 && current == recorded
}

// isIDReused reports whether the id of the process that a record names is that of another one by now.
func (a *attempt) isIDReused(r record) bool {
	recorded, current := a.startsOf(r)
	return recorded != 0 && current != 0 && current != recorded
}

// startsOf returns when the process that a record names was started: the one that has made it, or that had the open
// file then; and when the process was that has this id now. 0 is unknown: in another time namespace they cannot be
// compared.
func (a *attempt) startsOf(r record) (recorded, current uint64) {
	if !a.Machine().pidNS.sharesClock(r.owner.pidNS) {
		return 0, 0
	}
	if r.file != nil {
		return r.file.Start, proc.Start(r.file.PID)
	}
	return r.owner.start, proc.Start(r.owner.pid)
}

// lookSettled looks until nobody is taking or releasing the lock. If that lasts for long, who does it is a holder.
func (a *attempt) lookSettled() (snapshot, error) {
	var sight sighting
	for start := a.Now(); ; a.Sleep(time.Millisecond) {
		s, err := a.look()
		if err != nil {
			return s, err
		}
		if s.has(lost) {
			a.search(&s)
		}
		isLong := sight.isLong(&s, a.Now())
		switch token := s.token(); {
		case token == free:
			return s, nil
		case token == "" && isLong:
			return s, s.errToken()
		case token != "" && a.Now().Sub(start) >= stuck: // it may change hands all the time
			if owner := a.tokenOwner(&s); owner.verdict != over {
				s.holders = append(s.holders, owner)
			}
			return s, nil
		}
	}
}
