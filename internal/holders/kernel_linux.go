package holders

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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

// A kernelLock is a line of /proc/locks, or of fdinfo without the arrow. A lock is == in both:
// so one of /proc/locks can be looked up in scan.owners, which come from fdinfo.
type kernelLock struct {
	waiting bool
	kind    string // FLOCK, OFDLCK, POSIX
	write   bool
	pid     int    // who has asked for it; -1 of an open file description lock
	file    string // device and inode number
	start   int64
	end     string // the last byte, or EOF
}

func parseKernelLock(line string) (l kernelLock, ok bool) {
	fields := strings.Fields(line)
	if len(fields) > 1 && fields[1] == "->" {
		l.waiting = true
		fields = slices.Delete(fields, 1, 2)
	}
	if len(fields) < 8 {
		return l, false
	}
	l.kind, l.write, l.file = fields[1], fields[3] == "WRITE", fields[5]
	l.pid, _ = strconv.Atoi(fields[4])
	l.start, _ = strconv.ParseInt(fields[6], 10, 64)
	l.end = fields[7]
	return l, slices.Contains([]string{"FLOCK", "OFDLCK", "POSIX"}, l.kind)
}

// isMark reports whether it is a place in a queue or a ticket of --replace: whoever has one need not have the lock.
func (l kernelLock) isMark() bool {
	return l.isTicket() || l.kind == "OFDLCK" && l.write && locks.IsPlace(l.start)
}

func (l kernelLock) isTicket() bool { return l.kind == "OFDLCK" && l.write && locks.IsTicket(l.start) }

// isTurn reports whether it is the turn for a permit: who has it is the next one that gets one, and who waits for it
// comes after that.
func (l kernelLock) isTurn() bool { return l.kind == "OFDLCK" && l.write && locks.IsTurn(l.start) }

// isOfWaiter reports whether it is that of a process which waits: for this lock or, as it has the turn, for a permit.
func (l kernelLock) isOfWaiter() bool { return l.waiting || l.isTurn() }

// isOurs reports whether this process has called flock(2) for it.
func (l kernelLock) isOurs() bool { return l.kind == "FLOCK" && !l.waiting && l.pid == os.Getpid() }

func (l kernelLock) mode() string {
	switch {
	case l.isTurn(), l.kind == "OFDLCK" && l.write && locks.IsPermit(l.start):
		return "permit"
	case l.write:
		return "exclusive"
	}
	return "shared"
}

// A lockedFile is the file whose locks are looked for.
type lockedFile struct {
	unix.Stat_t
	shownInode string // its inode number in fdinfo, which is another one than that of stat(2) on some filesystems
	// names are how the kernel's locks name it. All are known when the descriptors of the holders have been read.
	names map[string]bool
	// listed is what the last look has found in the kernel's list, listedBefore what the one before has.
	listed, listedBefore []kernelLock
}

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
func kernelHolders(file *lockfile.File, q query) ([]Entry, error) {
	f, err := fileOf(file.Name, file.FD)
	if err != nil {
		return nil, err
	}
	var holders, waiters []Entry
	for range 2 {
		pids, err := proc.Processes()
		if err == nil {
			holders, waiters, err = f.look(pids, q)
		}
		if err != nil {
			return nil, unread(err)
		}
		if !slices.ContainsFunc(holders, func(h Entry) bool { return h.PID == 0 }) {
			break
		}
		// A lock whose process was not seen may have come or gone in between: look once more. Who has it in both looks
		// is one that may not be seen, if there is such a process.
	}
	slices.SortFunc(holders, func(a, b Entry) int { return a.PID - b.PID })
	return append(holders, waiters...), nil
}

// Keepers returns who still has the lock that this process has taken by flock(2) on the file of a descriptor, and has
// let go.
func Keepers(fd int) (list List) {
	if ours, err := readProcLocks(kernelLock.isOurs); err == nil && len(ours) == 0 {
		return list
	}
	f, err := fileOf("", fd)
	if err != nil {
		return list
	}
	pids, _ := proc.Processes()
	list.All = replaceGuards(f.scanDescriptors(pids).keepOnly(kernelLock.isOurs).holders(nil))
	return list
}

// kernelHoldersAmong returns those of some processes that hold a kernel lock and keep out who asks for one.
func kernelHoldersAmong(pids []int, f *lockfile.File, q query) []Entry {
	locked, err := fileOf(f.Name, f.FD)
	if err != nil {
		return nil
	}
	var own []kernelLock
	if !f.ByName { // a lock of its own open file keeps nobody out
		shown, _ := proc.ReadSmall("/proc/self/fdinfo/" + strconv.Itoa(f.FD))
		own = shownLocks(shown)
	}
	isWanted := func(l kernelLock) bool { return !slices.Contains(own, l) && q.wantsLock(l) }
	return locked.scanDescriptors(pids).keepOnly(isWanted).holders(nil)
}

// hasTicket reports whether a process has a ticket of the file.
func (f *lockedFile) hasTicket(pid int) bool {
	all, _, _ := f.locksOf(pid)
	return slices.ContainsFunc(all, kernelLock.isTicket)
}

// AncestorWithTicket returns the process that has a ticket of a file and has started this one, perhaps by others; the
// zero Entry if there is none that can be seen.
func AncestorWithTicket(file *lockfile.File) Entry {
	f, err := fileOf(file.Name, file.FD)
	if err != nil {
		return Entry{}
	}
	pids := ancestors()
	if i := slices.IndexFunc(pids, f.hasTicket); i >= 0 {
		return Entry{PID: pids[i]}
	}
	return Entry{}
}

// wantsLock reports whether those who have a lock are looked for.
func (q query) wantsLock(l kernelLock) bool {
	isFlock := l.kind == "FLOCK"
	switch {
	case q.all:
		return true
	case q.Permits > 0 && !isFlock: // any of several bytes will do
		return !q.byItself && l.overlaps(locks.PermitBytes(q.Permits))
	case q.asksShared() && !l.write:
		return false
	case q.Flock:
		return isFlock
	}
	return !isFlock && l.overlaps(q.Range)
}

// overlaps reports whether it is on some byte of a range.
func (l kernelLock) overlaps(r locks.Range) bool {
	end, err := strconv.ParseInt(l.end, 10, 64) // else to the end of the file
	isBefore := err == nil && end < r.Start
	isAfter := r.Length > 0 && l.start-r.Start >= r.Length
	return !isBefore && !isAfter
}

// look looks for the locks of the file once, in the descriptors of all processes and in the kernel's list: see
// kernelHolders.
func (f *lockedFile) look(pids []int, q query) (holders, waiters []Entry, err error) {
	seen := f.scanDescriptors(pids)
	if !slices.Contains(pids, 1) { // /proc is mounted with hidepid
		seen.isRefused = true
	}
	f.listedBefore = f.listed
	f.listed, err = readProcLocks(func(l kernelLock) bool { return f.names[l.file] })
	// A service of systemd with ProcSubset=pid has no such list. Then who holds the lock may still have been seen.
	isHidden := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
	if err != nil && !(isHidden && len(seen.modes()) > 0) {
		return nil, nil, err
	}
	for _, l := range f.listed {
		if l.pid > 0 && !l.isOfWaiter() && !seen.accountsFor(l) {
			seen.add(l.pid) // it has come since
		}
	}
	unshown := slices.DeleteFunc(slices.Clone(f.listed), func(l kernelLock) bool {
		return seen.accountsFor(l) || !q.wantsLock(l)
	})
	holders = seen.keepOnly(q.wantsLock).holders(unshown)
	if q.all {
		waiters = seen.waiters(unshown)
	}
	return holders, waiters, nil
}

// A scan is what the descriptors of some processes show about a file.
type scan struct {
	file       *lockedFile
	openers    []int                // who has the file open
	owners     map[kernelLock][]int // who has which lock
	turnHolder int                  // who has the turn for a permit, 0 if nobody has
	isRefused  bool                 // there is a process whose descriptors this user may not see
}

// scanDescriptors reads all descriptors of some processes.
func (f *lockedFile) scanDescriptors(pids []int) *scan {
	seen := &scan{file: f, owners: map[kernelLock][]int{}}
	for _, pid := range pids {
		seen.add(pid)
	}
	return seen
}

// add reads the descriptors of a process.
func (seen *scan) add(pid int) {
	locks, isOpen, isRefused := seen.file.locksOf(pid)
	seen.isRefused = seen.isRefused || isRefused && pid != 1 // from which all others stem: it has no lock
	if isOpen && !slices.Contains(seen.openers, pid) {
		seen.openers = append(seen.openers, pid)
	}
	for _, l := range locks {
		if l.isMark() {
			continue
		}
		seen.file.names[l.file] = true
		if l.isTurn() {
			seen.turnHolder = pid
		}
		if !slices.Contains(seen.owners[l], pid) {
			seen.owners[l] = append(seen.owners[l], pid)
		}
	}
}

// locksOf returns the locks that process pid has on the file by its descriptors, whether it has the file open, and
// whether this user may not see that.
func (f *lockedFile) locksOf(pid int) (locks []kernelLock, isOpen, isRefused bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	descriptors, err := proc.Numbers(dir + "/fd")
	isRefused = errors.Is(err, fs.ErrPermission)
	for _, fd := range descriptors {
		name := strconv.Itoa(fd)
		shown, err := proc.ReadSmall(dir + "/fdinfo/" + name)
		isRefused = isRefused || errors.Is(err, fs.ErrPermission)
		if f.isOpenAs(dir, name, shown) {
			locks, isOpen = append(locks, shownLocks(shown)...), true
		}
	}
	return locks, isOpen, isRefused
}

// isOpenAs reports whether a descriptor of a process is one of the file. shown is its fdinfo. If that has another inode
// number, nobody needs stat(2), which waits for ever for a server that is gone.
func (f *lockedFile) isOpenAs(dir, fd string, shown []byte) bool {
	number := shownInode(shown)
	if number != "" && f.shownInode != "" && number != f.shownInode {
		return false
	}
	var stat unix.Stat_t
	return unix.Stat(dir+"/fd/"+fd, &stat) == nil && sys.SameFile(&stat, &f.Stat_t)
}

// modes returns who holds the lock, and how. This process does not count where it has the lock from another one.
func (seen *scan) modes() map[int]string {
	modes := map[int]string{}
	for l, pids := range seen.owners {
		if l.isTurn() {
			continue
		}
		for _, pid := range pids {
			isOthers := pid == os.Getpid() && len(pids) > 1
			if pid != seen.turnHolder && !isOthers { // the next one has the shared lock for a moment
				modes[pid] = stronger(modes[pid], l.mode())
			}
		}
	}
	return modes
}

// accountsFor reports whether nothing more is to be said about a lock in the kernel's list.
func (seen *scan) accountsFor(l kernelLock) bool {
	isShown := seen.owners[l] != nil // by a descriptor
	// Whose turn it is waits for the shared lock, or had it a moment ago: see waiters.
	isOfTurn := seen.turnHolder != 0 && l.pid == seen.turnHolder
	return isShown || isOfTurn
}

// keepOnly forgets the locks that are not wanted.
func (seen *scan) keepOnly(isWanted func(kernelLock) bool) *scan {
	maps.DeleteFunc(seen.owners, func(l kernelLock, _ []int) bool { return !isWanted(l) })
	return seen
}

// holders returns who holds the lock: those that were seen to, and who has those locks of the kernel's list that no
// descriptor has shown. Of such a lock:
//
//	the list names                            and                                     it is held by
//	a process that may not be looked into                                             that one, which is listed once
//	nobody, or one that does not show it now  some may not be looked into, and the    one that this user may not see
//	                                          look before has found it, too
//	nobody, or one that does not show it now  all may be looked into, or it was not   another process, which has come
//	                                          there before                            or gone in between
func (seen *scan) holders(unshown []kernelLock) (list []Entry) {
	modes := seen.modes()
	for _, l := range unshown {
		isOfHidden := l.pid > 0 && isHidden(l.pid)
		switch {
		case l.isOfWaiter():
		case isOfHidden && modes[l.pid] == "":
			modes[l.pid] = l.mode()
		case isOfHidden:
		case seen.isRefused && slices.Contains(seen.file.listedBefore, l):
			list = append(list, Entry{Mode: l.mode(), Note: "a process that this user may not see"})
		default:
			list = append(list, Entry{Mode: l.mode(), Note: anotherProcess})
		}
	}
	for pid, mode := range modes {
		list = append(list, Entry{PID: pid, Mode: mode})
	}
	return list
}

// waiters returns who waits for the lock: the one whose turn it is to get a permit, and those in the kernel's list.
// Where that does not name a waiter, one of those that wait by such a call is taken, each once.
func (seen *scan) waiters(unshown []kernelLock) (list []Entry) {
	if seen.turnHolder != 0 {
		list = append(list, Entry{PID: seen.turnHolder, Mode: "permit", Waiting: true})
	}
	calls := seen.file.waitingCalls(seen.openers)
	for _, l := range unshown {
		if l.isOfWaiter() {
			list = append(list, Entry{PID: l.waiter(calls), Mode: l.mode(), Waiting: true})
		}
	}
	return list
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
			if ok && !l.isMark() && isWanted(l) && (l.pid <= 0 || !slices.Contains(locks, l)) {
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

// shownLocks returns the locks from what fdinfo shows.
func shownLocks(shown []byte) (locks []kernelLock) {
	for line := range strings.Lines(string(shown)) {
		if text, ok := strings.CutPrefix(line, "lock:"); ok {
			if l, ok := parseKernelLock(text); ok {
				locks = append(locks, l)
			}
		}
	}
	return locks
}

// stronger returns which of two modes tells more: a permit is a shared lock and a byte, and whoever makes an exclusive
// lock of it keeps the byte.
func stronger(a, b string) string {
	for _, mode := range []string{"exclusive", "permit"} {
		if a == mode || b == mode {
			return mode
		}
	}
	return b
}

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
