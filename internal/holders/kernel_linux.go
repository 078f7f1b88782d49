package holders

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

// Who holds a lock is found in the fdinfo of each descriptor of the locked open file. That names every process which
// has the lock; /proc/locks names only the one that asked for it, or none. And a descriptor leads to its file by
// stat(2); the device numbers in /proc/locks differ from those of stat(2) on btrfs and overlayfs.
//
// Who waits, and who holds the lock and may not be looked into, is found in /proc/locks only: by the device number of
// the mount, and by the names of the file in the fdinfo of the holders.

// isByte reports whether it is a lock that stands for something: see package locks.
func isByte(l proc.Lock, of locks.Range) bool {
	return l.Kind == "OFDLCK" && l.Write && of.Has(l.Start)
}

// isMark reports whether it is a place in a queue or a ticket of --replace: whoever has one need not have the lock.
func isMark(l proc.Lock) bool { return isByte(l, locks.Places) || isByte(l, locks.Tickets) }

// isTurn reports whether it is the turn for a permit: who has it is the next one that gets one, and who waits for it
// comes after that.
func isTurn(l proc.Lock) bool { return isByte(l, locks.Turn) }

// isOfWaiter reports whether it is that of a process which waits: for this lock or, as it has the turn, for a permit.
func isOfWaiter(l proc.Lock) bool { return l.Waiting || isTurn(l) }

func modeOf(l proc.Lock) string {
	switch {
	case isTurn(l), isByte(l, locks.Permits):
		return "permit"
	case l.Write:
		return "exclusive"
	}
	return "shared"
}

// isOn reports whether it is on some byte of a range.
func isOn(l proc.Lock, r locks.Range) bool {
	return l.End >= r.Start && (r.Length == 0 || l.Start-r.Start < r.Length)
}

// wantsLock reports whether those who have a lock are looked for.
func (q query) wantsLock(l proc.Lock) bool {
	isFlock := l.Kind == "FLOCK"
	switch {
	case q.all:
		return true
	case q.Permits > 0 && !isFlock: // any of several bytes will do
		return isOn(l, locks.Range{Start: locks.Permits.Start, Length: int64(q.Permits)})
	case q.asksShared() && !l.Write:
		return false
	case q.Flock:
		return isFlock
	}
	return !isFlock && isOn(l, q.Range)
}

// A lockedFile is the file whose locks are looked for, and what the last look has found.
type lockedFile struct {
	unix.Stat_t
	shownInode string // its inode number in fdinfo, which is another one than that of stat(2) on some filesystems
	// names are how the kernel's locks name it. All are known when the descriptors of the holders have been read.
	names     map[string]bool
	listed    []proc.Lock // what is in the kernel's list
	shown     []shownLock
	openers   []int // who has the file open, perhaps several times
	turn      int   // who has the turn for a permit, 0 if nobody has
	isRefused bool  // there is a process whose descriptors this user may not see
}

// A shownLock is a lock and the process that has it: that shows it by a descriptor, or the kernel's list names it and it
// may not be looked into.
type shownLock struct {
	proc.Lock
	process int
}

// Processes that are not known, of a lock that is in the kernel's list only.
const (
	nobody      = 0  // shows it
	maybeHidden = -1 // nobody shows it, and there is somebody who may not be looked into
)

// fileOf returns the file that is open as descriptor fd or, with a negative fd, the one called name. The error is that
// of stat(2).
func fileOf(name string, fd int) (*lockedFile, error) {
	if fd < 0 {
		var err error
		if fd, err = unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
			return nil, err
		}
		defer unix.Close(fd)
	}
	f := &lockedFile{}
	if err := unix.Fstat(fd, &f.Stat_t); err != nil {
		return nil, err
	}
	shown, _ := proc.ReadSmall("/proc/self/fdinfo/" + strconv.Itoa(fd))
	f.shownInode = proc.Field(shown, "ino")
	f.names = map[string]bool{proc.NameInLocks(&f.Stat_t, shown): true}
	return f, nil
}

// kernelHolders returns who holds a kernel lock on a file, and then who waits for one, as far as they are looked for.
// An error is that of stat(2) for the file, or says what cannot be read in /proc.
func kernelHolders(file *lockfile.File, q query) (list []Entry, err error) {
	f, err := fileOf(file.Name, file.FD)
	if err != nil {
		return nil, err
	}
	if q.among != nil {
		f.scan(q.among)
		if !file.ByName { // a lock of its own open file keeps nobody out
			own, _, _ := f.locksOf("/proc/self", strconv.Itoa(file.FD))
			f.shown = slices.DeleteFunc(f.shown, func(s shownLock) bool { return slices.Contains(own, s.Lock) })
		}
		return f.holders(q), nil
	}
	for range 2 {
		pids, err := proc.Processes()
		if err == nil {
			list, err = f.look(pids, q)
		}
		if err != nil {
			return nil, unread(err)
		}
		if !slices.ContainsFunc(list, func(h Entry) bool { return h.Note != "" }) {
			break
		}
		// A lock whose process was not seen may have come or gone in between: look once more. Who has it in both looks
		// is one that may not be seen, if there is such a process.
	}
	return list, nil
}

// look looks for the locks of the file once, in the descriptors of all processes and in the kernel's list. Of a lock in
// the list that no descriptor has shown:
//
//	the list names                            and                                     it is held by
//	a process that may not be looked into                                             that one, which is listed once
//	nobody, or one that does not show it now  some may not be looked into, and the    one that this user may not see
//	                                          look before has found it, too
//	nobody, or one that does not show it now  all may be looked into, or it was not   another process, which has come
//	                                          there before                            or gone in between
func (f *lockedFile) look(pids []int, q query) (list []Entry, err error) {
	f.scan(pids)
	if !slices.Contains(pids, 1) { // /proc is mounted with hidepid
		f.isRefused = true
	}
	before := f.listed
	f.listed, err = proc.Locks(func(l proc.Lock) bool { return f.names[l.File] && !isMark(l) })
	// A service of systemd with ProcSubset=pid has no such list. Then who holds the lock may still have been seen.
	isDenied := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
	if err != nil && !(isDenied && len(f.holders(q)) > 0) {
		return nil, err
	}
	for _, l := range f.listed {
		if l.PID > 0 && !isOfWaiter(l) && !f.accountsFor(l) {
			f.add(l.PID) // it has come since
		}
	}
	unshown := slices.DeleteFunc(slices.Clone(f.listed), f.accountsFor)
	for _, l := range unshown {
		s := shownLock{l, nobody}
		switch {
		case isOfWaiter(l):
			continue
		case l.PID > 0 && isHidden(l.PID):
			s.process = l.PID
		case f.isRefused && slices.Contains(before, l):
			s.process = maybeHidden
		}
		f.shown = append(f.shown, s)
	}
	list = f.holders(q)
	if q.all {
		list = append(list, f.waiters(unshown)...)
	}
	return list, nil
}

// scan reads all descriptors of some processes.
func (f *lockedFile) scan(pids []int) {
	f.shown, f.openers, f.turn, f.isRefused = nil, nil, 0, false
	for _, pid := range pids {
		f.add(pid)
	}
}

// add reads the descriptors of a process.
func (f *lockedFile) add(pid int) {
	dir := "/proc/" + strconv.Itoa(pid)
	descriptors, err := proc.Numbers(dir + "/fd")
	isRefused := errors.Is(err, fs.ErrPermission)
	for _, fd := range descriptors {
		all, isOpen, err := f.locksOf(dir, strconv.Itoa(fd))
		if isRefused = errors.Is(err, fs.ErrPermission); isRefused {
			break // by each of its descriptors
		}
		if isOpen && !slices.Contains(f.openers, pid) {
			f.openers = append(f.openers, pid)
		}
		for _, l := range all {
			f.names[l.File] = true
			f.shown = append(f.shown, shownLock{l, pid})
			if isTurn(l) {
				f.turn = pid
			}
		}
	}
	f.isRefused = f.isRefused || isRefused && pid != 1 // from which all others stem: it has no lock
}

// locksOf returns the locks that fdinfo shows of a descriptor of a process, and whether it is one of the file. If its
// fdinfo has another inode number, nobody needs stat(2), which waits for ever for a server that is gone.
func (f *lockedFile) locksOf(dir, fd string) (all []proc.Lock, isOpen bool, err error) {
	shown, err := proc.ReadSmall(dir + "/fdinfo/" + fd)
	number := proc.Field(shown, "ino")
	var stat unix.Stat_t
	if number != "" && f.shownInode != "" && number != f.shownInode ||
		unix.Stat(dir+"/fd/"+fd, &stat) != nil || !sys.SameFile(&stat, &f.Stat_t) {
		return nil, false, err
	}
	return proc.LocksIn(shown), true, err
}

// accountsFor reports whether nothing more is to be said about a lock in the kernel's list: a descriptor has shown it,
// or it is of the one who has the turn, who waits for the shared lock, or had it a moment ago.
func (f *lockedFile) accountsFor(l proc.Lock) bool {
	isIt := func(s shownLock) bool { return s.Lock == l }
	return f.turn != 0 && l.PID == f.turn || slices.ContainsFunc(f.shown, isIt)
}

// holders returns who holds the lock, by number. Of the modes of a process the one that tells more counts, and comes
// first in the alphabet: a permit is a shared lock and a byte, and whoever makes an exclusive lock of it keeps the byte.
func (f *lockedFile) holders(q query) (list []Entry) {
	slices.SortStableFunc(f.shown, func(a, b shownLock) int { return a.process - b.process })
	for _, s := range f.shown {
		isByOther := func(o shownLock) bool { return o.Lock == s.Lock && o.process != s.process }
		isOthers := s.process == os.Getpid() && slices.ContainsFunc(f.shown, isByOther) // we have it from there
		last := len(list) - 1
		h := Entry{PID: max(s.process, nobody), Mode: modeOf(s.Lock)}
		switch {
		case isMark(s.Lock), isTurn(s.Lock), isOthers, !q.wantsLock(s.Lock):
			continue
		case s.process == nobody:
			h.Note = anotherProcess
		case s.process == maybeHidden:
			h.Note = "a process that this user may not see"
		case s.process == f.turn: // the next one has the shared lock for a moment
			continue
		case last >= 0 && list[last].PID == s.process:
			list[last].Mode = min(list[last].Mode, h.Mode)
			continue
		}
		list = append(list, h)
	}
	return list
}

// waiters returns who waits for the lock: the one whose turn it is to get a permit, and those in the kernel's list.
// Where that does not name a waiter, one of those that wait by such a call is taken, each once.
func (f *lockedFile) waiters(unshown []proc.Lock) (list []Entry) {
	if f.turn != 0 {
		list = append(list, Entry{PID: f.turn, Mode: "permit", Waiting: true})
	}
	calls := f.waitingCalls()
	for _, l := range unshown {
		if isOfWaiter(l) {
			list = append(list, Entry{PID: calls.waiter(l), Mode: modeOf(l), Waiting: true})
		}
	}
	return list
}

// Keepers returns who still has the lock that this process has taken by flock(2) on the file of a descriptor, and has
// let go.
func Keepers(fd int) (list List) {
	isOurs := func(l proc.Lock) bool { return l.Kind == "FLOCK" && !l.Waiting && l.PID == os.Getpid() }
	if ours, err := proc.Locks(isOurs); err == nil && len(ours) == 0 {
		return list
	}
	f, err := fileOf("", fd)
	if err != nil {
		return list
	}
	pids, _ := proc.Processes()
	f.scan(pids)
	f.shown = slices.DeleteFunc(f.shown, func(s shownLock) bool { return !isOurs(s.Lock) })
	list.All = replaceGuards(f.holders(query{all: true}))
	return list
}

// AncestorWithTicket returns the process that has a ticket of a file and has started this one, perhaps by others; the
// zero Entry if there is none that can be seen.
func AncestorWithTicket(file *lockfile.File) (ancestor Entry) {
	if f, err := fileOf(file.Name, file.FD); err == nil {
		f.scan(ancestors())
		if i := slices.IndexFunc(f.shown, func(s shownLock) bool { return isByte(s.Lock, locks.Tickets) }); i >= 0 {
			ancestor.PID = f.shown[i].process
		}
	}
	return ancestor
}

// isHidden reports whether a process lives whose descriptors this user may not see.
func isHidden(pid int) bool {
	_, err := proc.Numbers("/proc/" + strconv.Itoa(pid) + "/fd")
	return errors.Is(err, fs.ErrPermission)
}

// unread says which file of /proc cannot be read.
func unread(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return errors.New("cannot read " + path.Path + ": " + sys.Text(path.Err))
	}
	return err
}

// seesAll reports whether the processes of the whole system can be seen here: this is the initial pid namespace.
func seesAll() bool {
	const initial = "pid:[4026531836]" // PROC_PID_INIT_INO of the kernel
	namespace, err := os.Readlink("/proc/self/ns/pid")
	return err != nil || namespace == initial
}
