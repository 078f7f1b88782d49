package proc

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

	"golang.org/x/sys/unix"

	"example.org/flock/internal/lockbytes"
	"example.org/flock/internal/sys"
)

// Who holds a lock is found in the fdinfo of each descriptor of the locked open file. That names every process which has the
// lock; /proc/locks names only the one that asked for it, or none. And a descriptor leads to its file by stat(2); the device
// numbers in /proc/locks are other ones than those of stat(2) on btrfs and overlayfs.
//
// Who waits is found in /proc/locks only, by the same device and inode number as in the fdinfo of the holders.

// kernelLock is a line of /proc/locks, or of fdinfo without the arrow. A place in a queue does not count as one.
type kernelLock struct {
	waiting bool
	kind    string // FLOCK, OFDLCK, POSIX
	write   bool
	pid     int
	file    string // device and inode number
	start   int64
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
	return l, l.kind == "FLOCK" || l.kind == "OFDLCK" && !lockbytes.IsPlace(l.start) || l.kind == "POSIX"
}

func (l kernelLock) mode() string {
	switch {
	case l.kind == "OFDLCK" && l.write && lockbytes.IsPermit(l.start):
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

// KernelLocks returns who holds a kernel lock on a file, and then who waits for one. The file is the one that is open as
// descriptor fd, or, with a negative fd, the one called name. An error is that of stat(2) for the file, or says what cannot
// be read in /proc.
func KernelLocks(name string, fd int) ([]LockHolder, error) {
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
	var holders, waiters []LockHolder
	for range 2 {
		if holders, waiters, err = lookForLocks(&target, files); err != nil {
			return nil, unread(err)
		}
		if !slices.ContainsFunc(holders, func(h LockHolder) bool { return h.PID == 0 }) {
			break
		}
		// A lock whose process was not seen may have come or gone in between: look once more.
	}
	slices.SortFunc(holders, func(a, b LockHolder) int { return a.PID - b.PID })
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
func lookForLocks(target *lockedFile, files map[string]bool) (holders, waiters []LockHolder, err error) {
	openers := map[int]bool{} // who has the file open
	seen := map[kernelLock]bool{}
	modes := map[int]string{}
	pids, err := Processes()
	if err != nil {
		return nil, nil, err
	}
	for _, pid := range pids {
		locks, open := locksOf(pid, target)
		if open {
			openers[pid] = true
		}
		for _, l := range locks {
			files[l.file], seen[l] = true, true
			modes[pid] = stronger(modes[pid], l.mode())
		}
	}
	if len(modes) > 1 {
		delete(modes, os.Getpid()) // which has what it has from one of the others
	}
	locks, err := readLocks(files)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range locks {
		switch {
		case l.waiting:
			waiters = append(waiters, LockHolder{PID: l.waiter(openers), Mode: l.mode(), Waiting: true})
		case seen[l]:
		case l.pid > 0 && hidden(l.pid):
			if modes[l.pid] == "" {
				modes[l.pid] = l.mode() // this user may not read its fdinfo
			}
		default:
			holders = append(holders, LockHolder{Mode: l.mode()})
		}
	}
	for pid, mode := range modes {
		holders = append(holders, LockHolder{PID: pid, Mode: mode})
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

// waiter returns the process that waits for the lock, 0 if that is unknown. An open file description lock does not name it,
// so it is one that has the file open and sleeps in fcntl(2).
func (l kernelLock) waiter(openers map[int]bool) int {
	if l.pid > 0 {
		return l.pid
	}
	for pid := range openers {
		where, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/wchan")
		if strings.HasPrefix(string(where), "fcntl_setlk") {
			delete(openers, pid)
			return pid
		}
	}
	return 0
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
