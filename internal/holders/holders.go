// Package holders says who has the lock on a file and who waits for it, for people to read.
package holders

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"time"

	"example.org/flock/fallback"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/output"
	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

// An Entry is a process that holds the lock or waits for it, or a cooldown.
type Entry struct {
	PID      int    // 0: unknown
	Mode     string // exclusive, shared, permit, ...
	Waiting  bool
	Cooldown bool   // nobody holds the lock because of it
	Note     string // instead of user and command, where there is no process that can be seen
	Advice   string // what to do if that is gone; usually it just still runs
}

// anotherProcess is the name of one of which no more is known.
const anotherProcess = "another process"

// A List is what is known about a lock.
type List struct {
	All     []Entry
	Missing error // there is no such file
	Partial bool  // there may be holders in other pid namespaces
}

// Find returns the holders of kernel locks, those of the directory lock, and the cooldown, as far as the mechanisms of
// config have them.
func Find(f *lockfile.File, config locks.Config) (List, error) {
	return find(f, query{Config: config, all: true})
}

// InTheWay returns those of Find that keep out who asks for a lock, as far as that is known. config and op are what
// that one asks for. It does not return those who wait.
func InTheWay(f *lockfile.File, config locks.Config, op locks.Op) List {
	list, _ := find(f, query{Config: config, op: op})
	return list
}

// A query says whose locks are looked for: all, or those that keep out who asks for one. Its config and op are what
// that one asks for.
type query struct {
	locks.Config
	op    locks.Op
	all   bool  // and who waits
	among []int // only kernel locks of these processes; nil: of all
}

func (q query) asksShared() bool { return q.op == locks.Shared || q.Permits > 0 }

// wants reports whether one who has or awaits the directory lock is looked for.
func (q query) wants(h Entry) bool {
	isShared := h.Mode == "shared" || h.Mode == "permit" && q.Permits == 0
	return q.all || !h.Waiting && !(q.asksShared() && isShared)
}

// find returns the holders that are looked for, and the cooldown, which is known even if they are not.
func find(f *lockfile.File, q query) (list List, err error) {
	cooldownEnd, missing := f.ModTime()
	switch {
	case missing == nil:
		list, err = findInKernel(f, q)
	case !f.ByName:
		return List{}, locks.FileError(f, missing)
	case !errors.Is(missing, fs.ErrNotExist), f.Name == "":
		return List{}, failure.Opening(f.Name, missing)
	}
	if err == nil { // a directory lock can outlast its file
		var more []Entry
		more, err = findInDirectory(f, q, len(list.All) > 0)
		if missing != nil && errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		list.All = replaceGuards(append(list.All, more...))
	}
	if err != nil {
		list = List{}
	}
	if missing == nil && time.Until(cooldownEnd) > 0 {
		until := "until " + output.FormatClock(cooldownEnd)
		list.All = append(list.All, Entry{Mode: "cooldown", Note: until, Cooldown: true})
	}
	list.Missing = missing
	return list, err
}

// findInKernel finds who has a kernel lock.
func findInKernel(f *lockfile.File, q query) (list List, err error) {
	if !q.Flock && !q.Fcntl || !locks.HasKernelLocks {
		return List{}, nil
	}
	if list.All, err = kernelHolders(f, q); err != nil {
		return List{}, unknown(f.Name, err)
	}
	list.Partial = !seesAll()
	return list, nil
}

// findInDirectory finds who has the directory lock. isHeld says that somebody was found already who holds the file.
func findInDirectory(f *lockfile.File, q query, isHeld bool) (list []Entry, err error) {
	if !q.Directory {
		return nil, nil
	}
	contenders, err := locks.DirectoryHolders(f, q.StateBase)
	var none *locks.NoStateDir
	var known *failure.Error
	switch hasNone := errors.As(err, &none); {
	case hasNone && errors.As(err, &known): // FLOCK_DIR is wrong
		return nil, known
	case hasNone && !f.ByName && q.Flock:
		return nil, nil // an open file without a name can have locks of the kernel only
	case hasNone && isHeld:
		return nil, nil // by a path that the directory lock refuses
	case hasNone:
		return nil, unknown(f.Name, none.Err)
	case err != nil:
		return nil, locks.DirectoryError(f, q.StateBase, err)
	}
	for _, c := range contenders {
		if h := directoryHolder(c); q.wants(h) {
			list = append(list, h)
		}
	}
	return list, nil
}

// directoryHolder returns a holder of the directory lock.
func directoryHolder(c fallback.Contender) Entry {
	h := Entry{PID: c.PID, Mode: c.Mode.String(), Waiting: c.Waiting}
	switch {
	case c.PID == 0 && c.Where != "":
		h.Note = "a process " + c.Where
	case c.Where != "":
		h.Note = c.Where
	case c.PID == 0, !c.Seen && c.PID != os.Getpid() && proc.Command(c.PID) == "": // it has ended in between
		h.PID, h.Note = 0, anotherProcess
	}
	if c.Unreachable && h.Note != "" {
		h.Advice = c.Advice
	}
	return h
}

// unknown returns the error of a file whose holders are not known.
func unknown(file string, err error) error {
	status := failure.ExUnavailable
	if sys.LacksResources(err) {
		status = failure.ExOSErr
	}
	text := "cannot tell who holds " + file + ": " + sys.Printable(err.Error())
	return &failure.Error{Status: status, Text: text, Cause: err}
}

// Rows returns the table of --holders without its heading. A process that has ended meanwhile has no row.
func (l List) Rows() (rows [][]string, isHeld bool) {
	for _, h := range l.All {
		if row, ok := h.row(); ok {
			rows = append(rows, row)
			isHeld = isHeld || !h.Waiting && !h.Cooldown
		}
	}
	return rows, isHeld
}

// row returns the columns, and false for a process that has ended.
func (h Entry) row() (row []string, ok bool) {
	row = []string{"-", h.Mode, "-", "-", h.Note}
	if h.Advice != "" {
		row[4] += ": " + h.Advice
	}
	if h.Waiting {
		row[1] += " (waiting)"
	}
	if h.PID != 0 {
		row[0] = strconv.Itoa(h.PID)
	}
	if h.isSeen() {
		row[2], row[3], row[4] = userOf(h.PID), h.ageColumn(), proc.Command(h.PID)
		if row[4] == "" {
			return row, false
		}
	}
	for i := range row {
		row[i] = sys.Printable(row[i])
	}
	return row, true
}

// isSeen reports whether it is a process of which this machine can tell more.
func (h Entry) isSeen() bool { return h.PID != 0 && h.Note == "" }
