package holders

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

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

// A kernelLock is a line of /proc/locks, or of fdinfo without the arrow. A lock is == in both.
type kernelLock struct {
	waiting    bool
	kind       string // FLOCK, OFDLCK, POSIX
	write      bool
	pid        int    // who has asked for it; -1 of an open file description lock
	file       string // device and inode number
	start, end int64  // the last byte is included
}

func parseKernelLock(line string) (l kernelLock, ok bool) {
	var number, advisory, mode, end string
	number, rest, isWaiting := strings.Cut(line, "->")
	n, _ := fmt.Sscan(number+rest, &number, &l.kind, &advisory, &mode, &l.pid, &l.file, &l.start, &end)
	l.waiting, l.write = isWaiting, mode == "WRITE"
	var err error
	if l.end, err = strconv.ParseInt(end, 10, 64); err != nil { // EOF
		l.end = math.MaxInt64
	}
	return l, n == 8 && slices.Contains([]string{"FLOCK", "OFDLCK", "POSIX"}, l.kind)
}

// isByte reports whether it is a lock that stands for something: see package locks.
func (l kernelLock) isByte(of locks.Range) bool {
	return l.kind == "OFDLCK" && l.write && of.Has(l.start)
}

// isMark reports whether it is a place in a queue or a ticket of --replace: whoever has one need not have the lock.
func (l kernelLock) isMark() bool { return l.isByte(locks.Places) || l.isByte(locks.Tickets) }

// isTurn reports whether it is the turn for a permit: who has it is the next one that gets one, and who waits for it
// comes after that.
func (l kernelLock) isTurn() bool { return l.isByte(locks.Turn) }

// isOfWaiter reports whether it is that of a process which waits: for this lock or, as it has the turn, for a permit.
func (l kernelLock) isOfWaiter() bool { return l.waiting || l.isTurn() }

func (l kernelLock) mode() string {
	switch {
	case l.isTurn(), l.isByte(locks.Permits):
		return "permit"
	case l.write:
		return "exclusive"
	}
	return "shared"
}

// isOn reports whether it is on some byte of a range.
func (l kernelLock) isOn(r locks.Range) bool {
	return l.end >= r.Start && (r.Length == 0 || l.start-r.Start < r.Length)
}

// wantsLock reports whether those who have a lock are looked for.
func (q query) wantsLock(l kernelLock) bool {
	isFlock := l.kind == "FLOCK"
	switch {
	case q.all:
		return true
	case q.Permits > 0 && !isFlock: // any of several bytes will do
		return l.isOn(locks.Range{Start: locks.Permits.Start, Length: int64(q.Permits)})
	case q.asksShared() && !l.write:
		return false
	case q.Flock:
		return isFlock
	}
	return !isFlock && l.isOn(q.Range)
}

// A lockedFile is the file whose locks are looked for, and what the last look has found.
type lockedFile struct {
	unix.Stat_t
	shownInode string // its inode number in fdinfo, which is another one than that of stat(2) on some filesystems
	// names are how the kernel's locks name it. All are known when the descriptors of the holders have been read.
	names     map[string]bool
	listed    []kernelLock // what is in the kernel's list
	shown     []shownLock
	openers   []int // who has the file open, perhaps several times
	turn      int   // who has the turn for a permit, 0 if nobody has
	isRefused bool  // there is a process whose descriptors this user may not see
}

// A shownLock is a lock and the process that has it: that shows it by a descriptor, or the kernel's list names it and it
// may not be looked into.
type shownLock struct {
	kernelLock
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
	f.shownInode = shownInode(shown)
	f.names = map[string]bool{nameInLocks(&f.Stat_t, shown): true}
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
			f.shown = slices.DeleteFunc(f.shown, func(s shownLock) bool { return slices.Contains(own, s.kernelLock) })
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
	f.listed, err = readProcLocks(func(l kernelLock) bool { return f.names[l.file] && !l.isMark() })
	// A service of systemd with ProcSubset=pid has no such list. Then who holds the lock may still have been seen.
	isDenied := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
	if err != nil && !(isDenied && len(f.holders(q)) > 0) {
		return nil, err
	}
	for _, l := range f.listed {
		if l.pid > 0 && !l.isOfWaiter() && !f.accountsFor(l) {
			f.add(l.pid) // it has come since
		}
	}
	unshown := slices.DeleteFunc(slices.Clone(f.listed), f.accountsFor)
	for _, l := range unshown {
		s := shownLock{l, nobody}
		switch {
		case l.isOfWaiter():
			continue
		case l.pid > 0 && isHidden(l.pid):
			s.process = l.pid
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
		isRefused = isRefused || errors.Is(err, fs.ErrPermission)
		if isOpen && !slices.Contains(f.openers, pid) {
			f.openers = append(f.openers, pid)
		}
		for _, l := range all {
			f.names[l.file] = true
			f.shown = append(f.shown, shownLock{l, pid})
			if l.isTurn() {
				f.turn = pid
			}
		}
	}
	f.isRefused = f.isRefused || isRefused && pid != 1 // from which all others stem: it has no lock
}

// locksOf returns the locks that fdinfo shows of a descriptor of a process, and whether it is one of the file. If its
// fdinfo has another inode number, nobody needs stat(2), which waits for ever for a server that is gone.
func (f *lockedFile) locksOf(dir, fd string) (all []kernelLock, isOpen bool, err error) {
	shown, err := proc.ReadSmall(dir + "/fdinfo/" + fd)
	number := shownInode(shown)
	var stat unix.Stat_t
	if number != "" && f.shownInode != "" && number != f.shownInode ||
		unix.Stat(dir+"/fd/"+fd, &stat) != nil || !sys.SameFile(&stat, &f.Stat_t) {
		return nil, false, err
	}
	for line := range strings.Lines(string(shown)) {
		text, isLock := strings.CutPrefix(line, "lock:")
		if l, ok := parseKernelLock(text); ok && isLock {
			all = append(all, l)
		}
	}
	return all, true, err
}

// accountsFor reports whether nothing more is to be said about a lock in the kernel's list: a descriptor has shown it,
// or it is of the one who has the turn, who waits for the shared lock, or had it a moment ago.
func (f *lockedFile) accountsFor(l kernelLock) bool {
	isIt := func(s shownLock) bool { return s.kernelLock == l }
	return f.turn != 0 && l.pid == f.turn || slices.ContainsFunc(f.shown, isIt)
}

// holders returns who holds the lock, by number. Of the modes of a process the one that tells more counts, and comes
// first in the alphabet: a permit is a shared lock and a byte, and whoever makes an exclusive lock of it keeps the byte.
func (f *lockedFile) holders(q query) (list []Entry) {
	slices.SortStableFunc(f.shown, func(a, b shownLock) int { return a.process - b.process })
	for _, s := range f.shown {
		isByOther := func(o shownLock) bool { return o.kernelLock == s.kernelLock && o.process != s.process }
		isOthers := s.process == os.Getpid() && slices.ContainsFunc(f.shown, isByOther) // we have it from there
		last := len(list) - 1
		switch {
		case s.isMark(), s.isTurn(), isOthers, !q.wantsLock(s.kernelLock):
		case s.process == nobody:
			list = append(list, Entry{Mode: s.mode(), Note: anotherProcess})
		case s.process == maybeHidden:
			list = append(list, Entry{Mode: s.mode(), Note: "a process that this user may not see"})
		case s.process == f.turn: // the next one has the shared lock for a moment
		case last >= 0 && list[last].PID == s.process:
			list[last].Mode = min(list[last].Mode, s.mode())
		default:
			list = append(list, Entry{PID: s.process, Mode: s.mode()})
		}
	}
	return list
}

// waiters returns who waits for the lock: the one whose turn it is to get a permit, and those in the kernel's list.
// Where that does not name a waiter, one of those that wait by such a call is taken, each once.
func (f *lockedFile) waiters(unshown []kernelLock) (list []Entry) {
	if f.turn != 0 {
		list = append(list, Entry{PID: f.turn, Mode: "permit", Waiting: true})
	}
	calls := f.waitingCalls()
	for _, l := range unshown {
		if l.isOfWaiter() {
			list = append(list, Entry{PID: calls.waiter(l), Mode: l.mode(), Waiting: true})
		}
	}
	return list
}

// Keepers returns who still has the lock that this process has taken by flock(2) on the file of a descriptor, and has
// let go.
func Keepers(fd int) (list List) {
	isOurs := func(l kernelLock) bool { return l.kind == "FLOCK" && !l.waiting && l.pid == os.Getpid() }
	if ours, err := readProcLocks(isOurs); err == nil && len(ours) == 0 {
		return list
	}
	f, err := fileOf("", fd)
	if err != nil {
		return list
	}
	pids, _ := proc.Processes()
	f.scan(pids)
	f.shown = slices.DeleteFunc(f.shown, func(s shownLock) bool { return !isOurs(s.kernelLock) })
	list.All = replaceGuards(f.holders(query{all: true}))
	return list
}

// AncestorWithTicket returns the process that has a ticket of a file and has started this one, perhaps by others; the
// zero Entry if there is none that can be seen.
func AncestorWithTicket(file *lockfile.File) (ancestor Entry) {
	if f, err := fileOf(file.Name, file.FD); err == nil {
		f.scan(ancestors())
		if i := slices.IndexFunc(f.shown, func(s shownLock) bool { return s.isByte(locks.Tickets) }); i >= 0 {
			ancestor.PID = f.shown[i].process
		}
	}
	return ancestor
}

// readProcLocks returns those of the locks in /proc/locks that are wanted. One read(2) gives at most a page of it, all
// of one moment; for the next page the kernel finds its place again by counting, so of those around the border a lock
// is missing if another one has ended meanwhile, and comes twice if one has begun. Of several pages, two readings that
// agree count. Their borders are elsewhere, else both could have the same lock twice.
func readProcLocks(isWanted func(kernelLock) bool) (locks []kernelLock, err error) {
	page := os.Getpagesize()
	for i := range 100 {
		text, err := readPages("/proc/locks", page-(i%4)*page/4)
		if err != nil {
			return nil, err
		}
		before := locks
		locks = nil
		for line := range strings.Lines(string(text)) {
			l, ok := parseKernelLock(line)
			if ok && isWanted(l) && (l.pid <= 0 || !slices.Contains(locks, l)) {
				locks = append(locks, l)
			}
		}
		if len(text) < page || i > 0 && slices.Equal(before, locks) {
			break
		}
	}
	return locks, nil
}

// readPages returns what is in a list of the kernel, read a page at a time, and at first as many bytes as first says.
// The kernel puts into a page what has room there as a whole. So after a short page the list has ended, unless it goes
// on with something for which that page had no room. Say that there are 70 locks, of 60 bytes each:
//
//	read 4096 bytes    4080   68 locks: 16 bytes of the page are left, the next lock has no room there
//	read 4096 bytes     120   2 locks, which is more than 16 bytes: they are new; 3976 bytes are left
//	read 4096 bytes       0   the list has ended
//	              or     60   not more than 3976: the last lock once more, because one has begun before it
func readPages(path string, first int) (text []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	page := make([]byte, os.Getpagesize())
	room := 0
	for size := first; ; size = len(page) {
		n, err := f.Read(page[:size])
		if err != nil && err != io.EOF {
			return nil, err
		}
		if n <= room {
			return text, nil
		}
		text = append(text, page[:n]...)
		room = 0 // as much was read as was asked for, perhaps a part of a lock
		if n < size {
			room = len(page) - n
		}
	}
}

// shownInode returns the inode number from what fdinfo shows, or "": Linux shows it since 5.14.
func shownInode(shown []byte) string { return proc.Field(shown, "ino") }

// isHidden reports whether a process lives whose descriptors this user may not see.
func isHidden(pid int) bool {
	_, err := proc.Numbers("/proc/" + strconv.Itoa(pid) + "/fd")
	return errors.Is(err, fs.ErrPermission)
}

// nameInLocks returns how /proc/locks names a file that is open here. shown is its fdinfo. The kernel takes the number
// of the whole filesystem, which is that of its mounts; on btrfs stat(2) tells that of a subvolume.
func nameInLocks(stat *unix.Stat_t, shown []byte) string {
	major, minor := unix.Major(uint64(stat.Dev)), unix.Minor(uint64(stat.Dev))
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line) // proc_pid_mountinfo(5)
		if len(fields) > 2 && fields[0] == proc.Field(shown, "mnt_id") {
			fmt.Sscanf(fields[2], "%d:%d", &major, &minor)
		}
	}
	inode := shownInode(shown)
	if inode == "" {
		inode = strconv.FormatUint(stat.Ino, 10)
	}
	return fmt.Sprintf("%02x:%02x:%s", major, minor, inode)
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
