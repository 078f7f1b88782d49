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

	"example.org/flock/internal/lockbytes"
	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

// Who holds a lock is found in the fdinfo of each descriptor of the locked open file. That names every process which has the
// lock; /proc/locks names only the one that asked for it, or none. And a descriptor leads to its file by stat(2); the device
// numbers in /proc/locks are other ones than those of stat(2) on btrfs and overlayfs.
//
// Who waits is found in /proc/locks only, by the same device and inode number as in the fdinfo of the holders.

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
	return l, l.kind == "FLOCK" || l.kind == "OFDLCK" && !lockbytes.IsPlace(l.start) || l.kind == "POSIX"
}

// isLine reports whether who has it, the next one that gets a permit, and who waits for it, stand in line for that.
func (l kernelLock) isLine() bool { return l.kind == "OFDLCK" && l.write && lockbytes.IsLine(l.start) }

func (l kernelLock) mode() string {
	switch {
	case l.isLine(), l.kind == "OFDLCK" && l.write && lockbytes.IsPermit(l.start):
		return "permit"
	case l.write:
		return "exclusive"
	}
	return "shared"
}

// readLocks returns those of the files' locks that are in /proc/locks. One read(2) is at most a page of it and all of one
// moment; for the next page the kernel finds its place again by counting, so a lock is missing if another one ends
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

// kernelLocks returns who holds a kernel lock on a file, and then who waits for one. The file is the one that is open as
// descriptor fd, or, with a negative fd, the one called name. An error is that of stat(2) for the file, or says what cannot
// be read in /proc.
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
	files := map[string]bool{fileID(&target.Stat_t): true} // as the kernel's locks name it
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

// mayBe reports whether an open file may be of the same file, by what fdinfo shows. If not, nobody needs stat(2), which waits
// for ever for a server that is gone.
func (f *lockedFile) mayBe(shown []byte) bool {
	number := shownInode(shown)
	return number == "" || f.shownInode == "" || number == f.shownInode
}

// shownInode returns the inode number from what fdinfo shows, or "": Linux shows it since 5.14.
func shownInode(shown []byte) string {
	_, rest, _ := bytes.Cut(shown, []byte("\nino:\t"))
	number, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(number)
}

// lookForLocks looks for the locks of a file once. It adds to files how the kernel's locks name the file.
func lookForLocks(target *lockedFile, files map[string]bool) (holders, waiters []Holder, err error) {
	var openers []int              // who has the file open
	seen := map[kernelLock][]int{} // who has the lock
	next := 0                      // who is the next one that gets a permit
	pids, err := proc.Processes()
	if err != nil {
		return nil, nil, err
	}
	for _, pid := range pids {
		locks, isOpen := locksOf(pid, target)
		if isOpen {
			openers = append(openers, pid)
		}
		for _, l := range locks {
			files[l.file] = true
			if l.isLine() {
				next = pid
			}
			if !slices.Contains(seen[l], pid) {
				seen[l] = append(seen[l], pid)
			}
		}
	}
	locks, err := readLocks(files)
	if err != nil {
		return nil, nil, err
	}
	modes := map[int]string{}
	for l, pids := range seen {
		for _, pid := range pids {
			switch {
			case l.isLine():
				waiters = append(waiters, Holder{PID: pid, Mode: l.mode(), Waiting: true})
			case pid == next: // it has the shared lock for a moment
			case pid == os.Getpid() && len(pids) > 1: // it has the lock from one of the others
			default:
				modes[pid] = stronger(modes[pid], l.mode())
			}
		}
	}
	calls := waitingCalls(openers, target)
	for _, l := range locks {
		switch {
		case seen[l] != nil:
		case next != 0 && l.pid == next: // it waits for the shared lock, or had it a moment ago
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
		var stat unix.Stat_t
		if !target.mayBe(shown) || unix.Stat(dir+"/fd/"+d.Name(), &stat) != nil || !sys.SameFile(&stat, &target.Stat_t) {
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

// waiter returns the process that waits for the lock, 0 if that is unknown. An open file description lock does not name it:
// it is one of those whose call asks for just this. The call then counts for no other line.
func (l kernelLock) waiter(calls map[int]kernelLock) int {
	if l.pid > 0 {
		return l.pid
	}
	for pid, call := range calls {
		if call.write == l.write && call.start == l.start && call.end == l.end {
			delete(calls, pid)
			return pid
		}
	}
	return 0
}

// waitingCalls returns, by process, for what lock on the file one waits in fcntl(F_OFD_SETLKW). Only who may trace a process
// can see its calls.
func waitingCalls(pids []int, target *lockedFile) map[int]kernelLock {
	calls := map[int]kernelLock{}
	for _, pid := range pids {
		dir := "/proc/" + strconv.Itoa(pid)
		tasks, _ := proc.Numbers(dir + "/task")
		for _, task := range tasks {
			text, _ := proc.ReadSmall(dir + "/task/" + strconv.Itoa(task) + "/syscall")
			var number, fd, command, address uint64
			fmt.Sscanf(string(text), "%d %v %v %v", &number, &fd, &command, &address)
			var stat unix.Stat_t
			if number != unix.SYS_FCNTL || command != unix.F_OFD_SETLKW ||
				unix.Stat(dir+"/fd/"+strconv.FormatUint(fd, 10), &stat) != nil || !sys.SameFile(&stat, &target.Stat_t) {
				continue
			}
			if l, ok := readRequest(dir+"/mem", int64(address)); ok {
				calls[pid] = l
			}
		}
	}
	return calls
}

// readRequest reads the struct flock of a call from the memory of its process.
func readRequest(memory string, address int64) (l kernelLock, ok bool) {
	f, err := os.Open(memory)
	if err != nil {
		return l, false
	}
	defer f.Close()
	var lock unix.Flock_t
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&lock)), unsafe.Sizeof(lock))
	if _, err := f.ReadAt(bytes, address); err != nil || lock.Whence != io.SeekStart {
		return l, false
	}
	l = kernelLock{write: lock.Type == unix.F_WRLCK, start: lock.Start, end: "EOF"}
	if lock.Len > 0 {
		l.end = strconv.FormatInt(lock.Start+lock.Len-1, 10)
	}
	return l, true
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

// fileID names a file as /proc/locks does.
func fileID(stat *unix.Stat_t) string {
	dev := uint64(stat.Dev)
	return fmt.Sprintf("%02x:%02x:%d", unix.Major(dev), unix.Minor(dev), stat.Ino)
}

// seesAll reports whether the processes of the whole system can be seen here: this is the initial pid namespace.
func seesAll() bool {
	const initial = "pid:[4026531836]" // PROC_PID_INIT_INO of the kernel
	namespace, err := os.Readlink("/proc/self/ns/pid")
	return err != nil || namespace == initial
}
