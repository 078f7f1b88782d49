package main

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.org/flock/fallback"
	"example.org/flock/internal/cli"
	"example.org/flock/internal/cstart"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/output"
	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

// A listing is a line of --holders: a process that holds the lock or waits for it, or a cooldown.
type listing struct {
	pid     int // 0: unknown
	mode    string
	waiting bool
	free    bool   // nobody holds the lock because of it
	note    string // instead of user and command, where there is no process that can be seen
}

// showHolders lists who holds the lock and who waits, and returns the exit status: 0 if somebody holds it, 1 if nobody does.
// Anything that is not one of these answers has another status.
func showHolders(p *output.Printer, o *cli.Options) int {
	p.UnwrittenStatus = output.ExOSErr
	f := namedFile(o)
	list, missing, err := listHolders(f, o)
	if err != nil {
		return failure.Report(p, err)
	}
	status := 1
	var rows [][]string
	for _, l := range list {
		row, ok := l.row()
		if !ok {
			continue // it has ended meanwhile
		}
		rows = append(rows, row)
		if !l.waiting && !l.free {
			status = 0
		}
	}
	if missing != nil && len(rows) == 0 {
		p.Warn(failure.Opening(f.Name, missing).Text) // nobody holds it, but the name may be mistyped
	}
	p.PrintTable([]string{"PID", "MODE", "USER", "COMMAND"}, rows)
	return status
}

// namedFile returns the file that the user names.
func namedFile(o *cli.Options) *lockfile.File {
	if o.FD >= 0 {
		return lockfile.Descriptor(o.FD)
	}
	return lockfile.Unopened(o.File)
}

// listHolders returns the holders of kernel locks, those of the directory lock, and the cooldown. missing says that there is
// no such file.
func listHolders(f *lockfile.File, o *cli.Options) (list []listing, missing, err error) {
	cooldownEnd, missing := f.ModTime()
	switch {
	case missing == nil:
		if list, err = kernelHolders(f, o); err != nil {
			return nil, nil, err
		}
	case !f.ByName:
		return nil, nil, failure.New(output.ExDataErr, f.Name, missing)
	case !errors.Is(missing, fs.ErrNotExist):
		return nil, nil, failure.Opening(f.Name, missing)
	}
	// A directory lock can outlast its file.
	more, err := directoryHolders(f, o)
	if err != nil && (missing == nil || !errors.Is(err, fs.ErrNotExist)) {
		return nil, nil, err
	}
	list = append(list, more...)
	if missing == nil && time.Until(cooldownEnd) > 0 {
		list = append(list, listing{mode: "cooldown", note: "until " + output.FormatClock(cooldownEnd), free: true})
	}
	return list, missing, nil
}

// kernelHolders returns who has a kernel lock.
func kernelHolders(f *lockfile.File, o *cli.Options) (list []listing, err error) {
	if o.Backend == cli.Directory || !locks.HasKernelLocks {
		return nil, nil // here the lock is a directory's
	}
	holders, err := proc.KernelLocks(f.Name, f.FD)
	if err != nil {
		return nil, listingError(f.Name, err)
	}
	for _, h := range holders {
		l := listing{pid: h.PID, mode: h.Mode, waiting: h.Waiting}
		if h.PID == 0 && !h.Waiting {
			l.note = "a process that this user may not see"
		}
		list = append(list, l)
	}
	return list, nil
}

// directoryHolders returns who has the directory lock.
func directoryHolders(f *lockfile.File, o *cli.Options) (list []listing, err error) {
	if o.Backend != cli.Auto && o.Backend != cli.Directory {
		return nil, nil
	}
	base, _ := cstart.Getenv("FLOCK_DIR")
	dir, path, err := locks.StateDir(f, base)
	var known *failure.Error
	switch {
	case errors.As(err, &known): // FLOCK_DIR is wrong
		return nil, err
	case err != nil && !f.ByName && o.Backend == cli.Auto:
		return nil, nil // an open file without a name can have locks of the kernel only
	}
	if err != nil {
		return nil, listingError(f.Name, err)
	}
	holders, err := fallback.OpenIn(dir, path).Holders()
	if err != nil {
		return nil, locks.DirectoryError(f, base, err)
	}
	for _, h := range holders {
		line := listing{pid: h.PID, mode: h.Mode.String(), waiting: h.Waiting}
		if h.Unreachable {
			line.note = h.Where + ": remove " + h.Path + " if that is gone"
		}
		list = append(list, line)
	}
	return list, nil
}

// listingError returns the error of a file whose holders are not known.
func listingError(file string, err error) error {
	status := output.ExUnavailable
	if sys.LacksResources(err) {
		status = output.ExOSErr
	}
	return &failure.Error{Status: status, Text: "cannot tell who holds " + file + ": " + sys.Printable(err.Error()), Cause: err}
}

// row returns the columns, and false for a process that has ended.
func (l listing) row() (row []string, ok bool) {
	row = []string{"-", l.mode, "-", l.note}
	if l.waiting {
		row[1] += " (waiting)"
	}
	if l.pid != 0 {
		row[0] = strconv.Itoa(l.pid)
	}
	if l.isSeen() {
		if row[2], row[3] = userOf(l.pid), proc.Command(l.pid); row[3] == "" {
			return row, false
		}
	}
	for i := range row {
		row[i] = sys.Printable(row[i])
	}
	return row, true
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

// With --report a line says who has the lock: when flock has waited for long, when the lock is refused, and when a process
// that the command has left behind keeps it.

// reportLater says who has the lock when the time of the report has come, unless stop is called before. It does so beside
// the wait: a lock call that is made again is the last one in the kernel's line.
func (a *attempt) reportLater() (stop func()) {
	var once sync.Once
	due := time.Now().Add(a.ReportAfter)
	go func() {
		for left := a.ReportAfter; left > 0; left = time.Until(due) { // signals end a sleep
			sys.Sleep(min(left, time.Hour))
		}
		line := "waiting for " + targetName(a.Options) + ", " + stateOf(a.Options)
		once.Do(func() { a.out.Note(line) })
	}()
	return func() { once.Do(func() {}) }
}

// reportRefusal says that the lock is refused: with --verbose why, with --report who has it.
func (a *attempt) reportRefusal(err error) {
	var r *locks.Refusal
	if errors.As(err, &r) {
		a.out.WarnVerbose(r.Why)
	}
	if a.Reports {
		line := targetName(a.Options) + " is " + stateOf(a.Options)
		if a.Queued && errors.Is(err, locks.ErrConflict) {
			line += "; its queue is full"
		}
		a.out.Note(line)
	}
	a.out.WarnVerbose(locks.RefusalText(err))
}

// reportKeepers says who keeps the lock when the command has ended: those of its holders that have our open file.
func (a *attempt) reportKeepers() {
	if a.Close || !a.file.ByName || a.Op != locks.Exclusive || a.Permits > 0 {
		return
	}
	list, _, _ := listHolders(lockfile.Descriptor(a.file.FD), a.Options)
	if left, more := eldest(list); left.pid != 0 {
		a.out.Note(a.file.Name + " is still held by " + left.name() + more + "; -o would prevent that")
	}
}

// targetName names what is locked.
func targetName(o *cli.Options) string {
	if o.FD >= 0 {
		return "descriptor " + strconv.Itoa(o.FD)
	}
	return o.File
}

// stateOf says why the lock cannot be had, as far as that is known.
func stateOf(o *cli.Options) string {
	list, _, _ := listHolders(namedFile(o), o)
	cooldown := slices.IndexFunc(list, func(l listing) bool { return l.free })
	holder, more := eldest(list)
	if holder.mode == "" && cooldown >= 0 && o.Cooldown > 0 {
		return "in its cooldown " + list[cooldown].note
	}
	if age := holder.age(); age > 0 {
		more = ", running for " + output.FormatAge(age) + more
	}
	return "held by " + holder.name() + more
}

// eldest returns the eldest of the processes that hold the lock, the zero listing if there is none, and how many more there
// are. A flock that runs a command with the lock does not count, nor do children of others, from which they have it, nor
// does this process.
func eldest(list []listing) (first listing, more string) {
	type holder struct {
		listing
		parent  int
		isFlock bool
	}
	var holders []holder
	for _, l := range list {
		if l.waiting || l.free || l.pid == os.Getpid() {
			continue
		}
		h := holder{listing: l}
		if l.isSeen() {
			h.parent = proc.Parent(l.pid)
			program, _, _ := strings.Cut(proc.Command(l.pid), " ") // after the parent, which is then that of a process which lives
			if program == "" {
				continue // it has ended
			}
			h.isFlock = slices.Contains([]string{"flock", "flock-go"}, path.Base(program))
		}
		holders = append(holders, h)
	}
	runs := func(h holder) bool {
		return h.isFlock && slices.ContainsFunc(holders, func(c holder) bool { return c.parent == h.pid })
	}
	n := 0
	for _, h := range holders {
		hasIt := func(p holder) bool { return p.pid == h.parent && h.parent != 0 && !runs(p) }
		if runs(h) || slices.ContainsFunc(holders, hasIt) {
			continue
		}
		if n++; n == 1 || h.age() > first.age() {
			first = h.listing
		}
	}
	if n > 1 {
		more = ", and " + strconv.Itoa(n-1) + " more"
	}
	return first, more
}

// isSeen reports whether it is a process of which this machine can tell more.
func (l listing) isSeen() bool { return l.pid != 0 && l.note == "" }

// age returns how long ago the process was started, 0 if that is unknown.
func (l listing) age() time.Duration {
	if l.isSeen() {
		return proc.Age(l.pid)
	}
	return 0
}

// name names the process for a message.
func (l listing) name() string {
	const longest = 80 // bytes of a command line
	what := l.note
	switch {
	case l.pid == 0 && what == "":
		return "another process"
	case l.pid == 0:
		return what
	case what == "":
		if what = proc.Command(l.pid); len(what) > longest {
			what = strings.ToValidUTF8(what[:longest], "") + "..." // which may end in the middle of a character
		}
	}
	name := "process " + strconv.Itoa(l.pid)
	if what != "" && what != "-" {
		name += " (" + what + ")"
	}
	return sys.Printable(name)
}
