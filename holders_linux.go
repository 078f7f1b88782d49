package main

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// What /proc knows of locks. For a held lock it is the fdinfo of each
// descriptor of the locked open file: that names every process which has the
// lock, where /proc/locks names the one that asked for it, if that; and a
// descriptor leads to its file by stat(2), where /proc/locks has device
// numbers that on btrfs and overlayfs are not those of stat(2).
//
// Who waits stands in /proc/locks only, by the same device and inode number
// as the holders' locks in their fdinfo.

// kernelLock is a line of /proc/locks, or of fdinfo without the arrow.
type kernelLock struct {
	waiting bool
	kind    string // FLOCK, OFDLCK, POSIX
	write   bool
	pid     int
	file    string // device and inode number
	start   string
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
	l.kind, l.write, l.file, l.start = fields[1], fields[3] == "WRITE", fields[5], fields[6]
	l.pid, _ = strconv.Atoi(fields[4])
	return l, l.kind == "FLOCK" || l.kind == "OFDLCK" || l.kind == "POSIX"
}

func (l kernelLock) mode() string {
	switch {
	case l.kind == "OFDLCK" && l.write && len(l.start) == len(strconv.FormatInt(permitBase, 10)) && l.start >= strconv.FormatInt(permitBase, 10):
		return "permit"
	case l.write:
		return "exclusive"
	}
	return "shared"
}

// kernelHolders returns who has a kernel lock on f, or waits for one.
func kernelHolders(f *lockFile, o *options) ([]holding, error) {
	if o.backend == directory {
		return nil, nil
	}
	var target unix.Stat_t
	if err := f.stat(&target); err != nil {
		return nil, err
	}
	files := map[string]bool{fileID(&target): true} // as the kernel's locks name it
	openers := map[int]bool{}                       // who has the file open
	modes := map[int]string{}
	var list, waiters []holding
	for again := range 2 {
		seen := map[kernelLock]bool{}
		if err := eachProcess(func(pid int) {
			locks, open := locksOf(pid, &target)
			openers[pid] = open
			for _, l := range locks {
				files[l.file], seen[l] = true, true
				modes[pid] = stronger(modes[pid], l.mode())
			}
		}); err != nil {
			return nil, &stepError{seeing, f.name, unread(err)}
		}
		text, err := os.ReadFile("/proc/locks")
		if err != nil {
			return nil, &stepError{seeing, f.name, unread(err)}
		}
		list, waiters = nil, nil
		for line := range strings.Lines(string(text)) {
			l, ok := parseKernelLock(line)
			switch {
			case !ok || !files[l.file]:
			case l.waiting:
				waiters = append(waiters, holding{pid: l.waiter(openers), mode: l.mode(), waiting: true})
			case seen[l]:
			case l.pid > 0 && hidden(l.pid):
				if modes[l.pid] == "" {
					modes[l.pid] = l.mode() // whose fdinfo is not for us to read
				}
			default:
				list = append(list, holding{mode: l.mode(), note: "a process that this user may not see"})
			}
		}
		if len(list) == 0 || again > 0 {
			break
		}
		// Unless it came or went in between.
		clear(modes)
	}
	for pid, mode := range modes {
		list = append(list, holding{pid: pid, mode: mode})
	}
	slices.SortFunc(list, func(a, b holding) int { return a.pid - b.pid })
	return append(list, waiters...), nil
}

// unread says which file of /proc is not there, or not for us.
func unread(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return errors.New("cannot read " + path.Path + ": " + reason(path.Err))
	}
	return err
}

// eachProcess calls f for all processes but our own.
func eachProcess(f func(pid int)) error {
	own, err := os.Readlink("/proc/self") // there may be a /proc with nothing in it
	if err != nil {
		return err
	}
	processes, err := os.ReadDir("/proc")
	for _, entry := range processes {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && entry.Name() != own {
			f(pid)
		}
	}
	return err
}

// locksOf returns the locks that process pid has on the file by its open
// descriptors, and whether it has the file open.
func locksOf(pid int, target *unix.Stat_t) (locks []kernelLock, open bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	descriptors, _ := os.ReadDir(dir + "/fd")
	for _, d := range descriptors {
		var stat unix.Stat_t
		if unix.Stat(dir+"/fd/"+d.Name(), &stat) != nil || !sameFile(&stat, target) {
			continue
		}
		open = true
		for _, line := range lines(dir + "/fdinfo/" + d.Name()) {
			if text, ok := strings.CutPrefix(line, "lock:"); ok {
				if l, ok := parseKernelLock(text); ok {
					locks = append(locks, l)
				}
			}
		}
	}
	return locks, open
}

// hasNoPermit reports whether the descriptor has, for certain, no permit.
func (f *lockFile) hasNoPermit() bool {
	anybody := unix.Flock_t{Type: unix.F_WRLCK, Start: permitBase, Len: 1}
	if unix.FcntlFlock(uintptr(f.fd), unix.F_OFD_GETLK, &anybody) != nil {
		return false // no byte locks here: it may be one of the directory lock
	}
	text, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(f.fd))
	for line := range strings.Lines(string(text)) {
		if l, ok := parseKernelLock(strings.TrimPrefix(line, "lock:")); ok && l.mode() == "permit" {
			return false
		}
	}
	return err == nil
}

// waiter returns the process that waits for the lock: open file description
// locks do not say, but whoever has the file open and sleeps in fcntl(2) does.
func (l kernelLock) waiter(openers map[int]bool) int {
	if l.pid > 0 {
		return l.pid
	}
	for pid, open := range openers {
		where, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/wchan")
		if open && strings.HasPrefix(string(where), "fcntl_setlk") {
			delete(openers, pid)
			return pid
		}
	}
	return 0
}

// stronger returns which of two modes tells more: a permit is a shared lock
// and a byte.
func stronger(a, b string) string {
	for _, mode := range []string{"permit", "exclusive"} {
		if a == mode || b == mode {
			return mode
		}
	}
	return b
}

// hidden reports whether a process lives whose descriptors are not for us.
func hidden(pid int) bool {
	_, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	return errors.Is(err, fs.ErrPermission)
}

// concealed reports whether a process lives whose descriptors are not for us,
// be it that not even the process is.
func concealed(pid int) bool {
	_, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	return err != nil && unix.Kill(pid, 0) != unix.ESRCH
}

// fileID names a file as /proc/locks does.
func fileID(stat *unix.Stat_t) string {
	hex := func(n uint32) string {
		s := strconv.FormatUint(uint64(n), 16)
		return strings.Repeat("0", max(2-len(s), 0)) + s
	}
	return hex(unix.Major(uint64(stat.Dev))) + ":" + hex(unix.Minor(uint64(stat.Dev))) + ":" +
		strconv.FormatUint(uint64(stat.Ino), 10)
}

func lines(path string) []string {
	text, _ := os.ReadFile(path)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func processUser(pid int) string {
	var stat unix.Stat_t
	if unix.Stat("/proc/"+strconv.Itoa(pid), &stat) != nil {
		return "-"
	}
	return userName(strconv.Itoa(int(stat.Uid)))
}

// processCommand returns the command line, the name in brackets where there is
// none, or nothing for a process that is gone.
func processCommand(pid int) string {
	dir := "/proc/" + strconv.Itoa(pid)
	text, _ := os.ReadFile(dir + "/cmdline")
	if len(text) == 0 {
		name, err := os.ReadFile(dir + "/comm")
		if err != nil {
			return ""
		}
		return "[" + strings.TrimSpace(string(name)) + "]"
	}
	return strings.ReplaceAll(strings.TrimSuffix(string(text), "\x00"), "\x00", " ")
}
