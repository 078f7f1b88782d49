package holders

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/direct"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

// Who holds a lock is found in the fdinfo of each descriptor of the locked open file. That names every process which
// has the lock; /proc/locks names only the one that asked for it, or none. And a descriptor leads to its file by
// stat(2); the device numbers in /proc/locks are other ones than those of stat(2) on btrfs and overlayfs.
//
// Who waits, and who holds the lock and may not be looked into, is found in /proc/locks only: by the device number of
// the mount, and by the names of the file in the fdinfo of the holders.

// A kernelLock is a line of /proc/locks, or of fdinfo without the arrow. A place in a queue does not count as one.
type kernelLock struct {
	waiting bool
	kind    string // FLOCK, OFDLCK, POSIX
	write   bool
	pid     int    // -1 of an open file description lock
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
	return l, l.kind == "FLOCK" || l.kind == "OFDLCK" && !locks.IsPlace(l.start) || l.kind == "POSIX"
}

// isLine reports whether who has it, the next one that gets a permit, and who waits for it, stand in line for that.
func (l kernelLock) isLine() bool { return l.kind == "OFDLCK" && l.write && locks.IsLine(l.start) }

func (l kernelLock) mode() string {
	switch {
	case l.isLine(), l.kind == "OFDLCK" && l.write && locks.IsPermit(l.start):
		return "permit"
	case l.write:
		return "exclusive"
	}
	return "shared"
}

// readLocks returns those of the files' locks that are in /proc/locks. One read(2) is at most a page of it and all of
// one moment; for the next page the kernel finds its place again by counting, so a lock is missing if another one ends
// meanwhile, and comes twice if one begins. Of several pages, two readings that agree count.
func readLocks(files map[string]bool) (locks []kernelLock, err error) {
	for i := range 20 {
		text, err := readPages("/proc/locks")
		if err != nil {
			return nil, err
		}
		before := locks
		locks = nil
		for line := range strings.Lines(string(text)) {
			l, ok := parseKernelLock(line)
			if ok && files[l.file] && (l.pid <= 0 || !slices.Contains(locks, l)) {
				locks = append(locks, l)
			}
		}
		if len(text) < os.Getpagesize() || i > 0 && slices.Equal(before, locks) {
			break
		}
	}
	return locks, nil
}

// readPages returns what is in a file of /proc, read a page at a time: os.ReadFile begins with less.
func readPages(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(bufio.NewReaderSize(f, os.Getpagesize()))
}

// kernelLocks returns who holds a kernel lock on a file, and then who waits for one. The file is the one that is open
// as descriptor fd, or, with a negative fd, the one called name. An error is that of stat(2) for the file, or says what
// cannot be read in /proc.
func kernelLocks(name string, fd int) ([]Holder, error) {
	if fd < 0 {
		var err error
		if fd, err = unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
			return nil, err
		}
		defer unix.Close(fd)
	}
	var target lockedFile
	if err := unix.Fstat(fd, &target.Stat_t); err != nil {
		return nil, err
	}
	shown, _ := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(fd))
	target.shownInode = shownInode(shown)
	files := map[string]bool{nameInLocks(&target.Stat_t, shown): true}
	var err error
	var holders, waiters []Holder
	for range 2 {
		if holders, waiters, err = lookForLocks(&target, files); err != nil {
			return nil, unread(err)
		}
		if !slices.ContainsFunc(holders, func(h Holder) bool { return h.PID == 0 }) {
			break
		}
		// A lock whose process was not seen may have come or gone in between: look once more.
	}
	slices.SortFunc(holders, func(a, b Holder) int { return a.PID - b.PID })
	return append(holders, waiters...), nil
}

// A lockedFile is the file whose locks are looked for.
type lockedFile struct {
	unix.Stat_t
	shownInode string // its inode number in fdinfo, which is another one than that of stat(2) on some filesystems
}

// isOpenAs reports whether a descriptor of a process is one of the file. shown is its fdinfo. If that has another inode
// number, nobody needs stat(2), which waits for ever for a server that is gone.
func (f *lockedFile) isOpenAs(dir, fd string, shown []byte) bool {
	number := shownInode(shown)
	if number != "" && f.shownInode != "" && number != f.shownInode {
		return false
	}
	var stat unix.Stat_t
	return unix.Stat(dir+"/fd/"+fd, &stat) == nil && direct.SameFile(&stat, &f.Stat_t)
}

// shownInode returns the inode number from what fdinfo shows, or "": Linux shows it since 5.14.
func shownInode(shown []byte) string { return shownField(shown, "ino") }

// shownField returns a number from what fdinfo shows, or "".
func shownField(shown []byte, name string) string {
	_, rest, _ := bytes.Cut(shown, []byte("\n"+name+":\t"))
	number, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(number)
}

// A look is what the descriptors of all processes show about a file.
type look struct {
	openers []int                // who has the file open
	owners  map[kernelLock][]int // who has which lock
	next    int                  // who is the next one that gets a permit, 0 if nobody is
}

// lookAtDescriptors looks at the descriptors of all processes. It adds to files how the kernel's locks name the file.
func lookAtDescriptors(target *lockedFile, files map[string]bool) (*look, error) {
	seen := &look{owners: map[kernelLock][]int{}}
	pids, err := proc.Processes()
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		locks, isOpen := locksOf(pid, target)
		if isOpen {
			seen.openers = append(seen.openers, pid)
		}
		for _, l := range locks {
			files[l.file] = true
			if l.isLine() {
				seen.next = pid
			}
			if !slices.Contains(seen.owners[l], pid) {
				seen.owners[l] = append(seen.owners[l], pid)
			}
		}
	}
	return seen, nil
}

// lookForLocks looks for the locks of a file once, in the descriptors and in the kernel's list.
func lookForLocks(target *lockedFile, files map[string]bool) (holders, waiters []Holder, err error) {
	seen, err := lookAtDescriptors(target, files)
	if err != nil {
		return nil, nil, err
	}
	locks, err := readLocks(files)
	if err != nil {
		return nil, nil, err
	}
	modes := seen.modes()
	calls := waitingCalls(seen.openers, target)
	if seen.next != 0 {
		waiters = append(waiters, Holder{PID: seen.next, Mode: "permit", Waiting: true})
	}
	for _, l := range locks {
		switch {
		case seen.owners[l] != nil:
		case seen.next != 0 && l.pid == seen.next: // it waits for the shared lock, or had it a moment ago
		case l.waiting:
			waiters = append(waiters, Holder{PID: l.waiter(calls), Mode: l.mode(), Waiting: true})
		case l.isLine():
			waiters = append(waiters, Holder{Mode: l.mode(), Waiting: true})
		case l.pid > 0 && hidden(l.pid):
			if modes[l.pid] == "" {
				modes[l.pid] = l.mode() // this user may not read its fdinfo
			}
		default:
			holders = append(holders, Holder{Mode: l.mode(), Note: "a process that this user may not see"})
		}
	}
	for pid, mode := range modes {
		holders = append(holders, Holder{PID: pid, Mode: mode})
	}
	return holders, waiters, nil
}

// modes returns who holds the lock, and how. This process does not count where it has the lock from another one.
func (seen *look) modes() map[int]string {
	modes := map[int]string{}
	for l, pids := range seen.owners {
		if l.isLine() {
			continue
		}
		for _, pid := range pids {
			isOthers := pid == os.Getpid() && len(pids) > 1
			if pid != seen.next && !isOthers { // the next one has the shared lock for a moment
				modes[pid] = stronger(modes[pid], l.mode())
			}
		}
	}
	return modes
}

// unread says which file of /proc cannot be read.
func unread(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return errors.New("cannot read " + path.Path + ": " + sys.Text(path.Err))
	}
	return err
}

// locksOf returns the locks that process pid has on the file by its open descriptors, and whether it has the file open.
func locksOf(pid int, target *lockedFile) (locks []kernelLock, open bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	descriptors, _ := os.ReadDir(dir + "/fd")
	for _, d := range descriptors {
		shown, _ := os.ReadFile(dir + "/fdinfo/" + d.Name())
		if !target.isOpenAs(dir, d.Name(), shown) {
			continue
		}
		open = true
		for line := range strings.Lines(string(shown)) {
			if text, ok := strings.CutPrefix(line, "lock:"); ok {
				if l, ok := parseKernelLock(text); ok {
					locks = append(locks, l)
				}
			}
		}
	}
	return locks, open
}

// waiter returns the process that waits for the lock, 0 if that is unknown. An open file description lock does not name
// it: it is one of those whose call asks for just this. The call then counts for no other line.
func (l kernelLock) waiter(calls map[int]waitingCall) int {
	if l.pid > 0 {
		return l.pid
	}
	for thread, call := range calls {
		if call.write == l.write && call.start == l.start && call.end == l.end {
			delete(calls, thread)
			return call.process
		}
	}
	return 0
}

// A waitingCall is a call of fcntl(F_OFD_SETLKW) that has not returned.
type waitingCall struct {
	process int
	write   bool
	start   int64
	end     string // as in a kernelLock
}

// waitingCalls returns, by thread, the calls that wait for a lock on the file. Only who may trace a process can see its
// calls.
func waitingCalls(pids []int, target *lockedFile) map[int]waitingCall {
	calls := map[int]waitingCall{}
	for _, pid := range pids {
		dir := "/proc/" + strconv.Itoa(pid)
		threads, _ := proc.Numbers(dir + "/task")
		for _, thread := range threads {
			text, _ := proc.ReadSmall(dir + "/task/" + strconv.Itoa(thread) + "/syscall")
			var number, fd, command, address uint64
			fmt.Sscanf(string(text), "%d %v %v %v", &number, &fd, &command, &address)
			if number != unix.SYS_FCNTL || command != unix.F_OFD_SETLKW {
				continue
			}
			name := strconv.FormatUint(fd, 10)
			shown, _ := os.ReadFile(dir + "/fdinfo/" + name)
			if !target.isOpenAs(dir, name, shown) {
				continue
			}
			if call, ok := readCall(pid, address); ok {
				calls[thread] = call
			}
		}
	}
	return calls
}

// readCall reads the struct flock of a call from the memory of its process.
func readCall(pid int, address uint64) (call waitingCall, ok bool) {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/mem")
	if err != nil {
		return call, false
	}
	defer f.Close()
	var lock unix.Flock_t
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&lock)), unsafe.Sizeof(lock))
	if _, err := f.ReadAt(bytes, int64(address)); err != nil || lock.Whence != io.SeekStart {
		return call, false
	}
	call = waitingCall{process: pid, write: lock.Type == unix.F_WRLCK, start: lock.Start, end: "EOF"}
	if lock.Len > 0 {
		call.end = strconv.FormatInt(lock.Start+lock.Len-1, 10)
	}
	return call, true
}

// stronger returns which of two modes tells more: a permit is a shared lock and a byte.
func stronger(a, b string) string {
	for _, mode := range []string{"permit", "exclusive"} {
		if a == mode || b == mode {
			return mode
		}
	}
	return b
}

// hidden reports whether a process lives whose descriptors this user may not see.
func hidden(pid int) bool {
	_, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	return errors.Is(err, fs.ErrPermission)
}

// nameInLocks returns how /proc/locks names a file that is open here. shown is its fdinfo. The kernel takes the number
// of the whole filesystem, which is that of its mounts; on btrfs stat(2) tells that of a subvolume.
func nameInLocks(stat *unix.Stat_t, shown []byte) string {
	major, minor := unix.Major(uint64(stat.Dev)), unix.Minor(uint64(stat.Dev))
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line) // proc_pid_mountinfo(5)
		if len(fields) > 2 && fields[0] == shownField(shown, "mnt_id") {
			fmt.Sscanf(fields[2], "%d:%d", &major, &minor)
		}
	}
	inode := shownField(shown, "ino")
	if inode == "" {
		inode = strconv.FormatUint(stat.Ino, 10)
	}
	return fmt.Sprintf("%02x:%02x:%s", major, minor, inode)
}

// seesAll reports whether the processes of the whole system can be seen here: this is the initial pid namespace.
func seesAll() bool {
	const initial = "pid:[4026531836]" // PROC_PID_INIT_INO of the kernel
	namespace, err := os.Readlink("/proc/self/ns/pid")
	return err != nil || namespace == initial
}
