package proc

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/sys"
)

func ThisMachine() Machine {
	m := Machine{
		Boot: strings.ReplaceAll(firstLine("/proc/sys/kernel/random/boot_id"), "-", ""),
		Namespace: namespace("self", "pid"),
	}
	for _, file := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} { // machine-id(5)
		if id := firstLine(file); len(id) == 32 {
			m.ID = id
			break
		}
	}
	return m
}

// namespace returns the inode number of a process's namespace, from a link like "pid:[4026531836]".
func namespace(process, kind string) string {
	link, err := os.Readlink("/proc/" + process + "/ns/" + kind)
	if err != nil {
		return ""
	}
	_, number, _ := strings.Cut(link, "[")
	return strings.TrimSuffix(number, "]")
}

// CanTell reports an error without a /proc of our own pid namespace. In a new namespace, until somebody mounts it anew,
// /proc shows the processes of the old one, and every look into it would be at another process.
var CanTell = sync.OnceValue(func() error {
	if link, err := os.Readlink("/proc/self"); err != nil || link != strconv.Itoa(os.Getpid()) {
		return errors.New("without a /proc of this pid namespace processes cannot be told apart")
	}
	return nil
})

// Start returns the start time in clock ticks since boot, and whether the process is alive. A zombie is not.
func Start(pid int) (start string, alive bool) {
	// When a thread other than the first one calls execve(2), the first is a zombie for a moment, and then the other
	// one is in its place. Only a zombie that stays one is dead.
	for range 5 {
		s, ok := readStat(pid)
		if !ok {
			// With the mount option hidepid=2 other users' processes cannot be seen, but they exist.
			return "", exists(pid)
		}
		if s.state != 'X' && s.state != 'Z' || countThreads(pid) > 1 {
			return s.start, true
		}
	}
	return "", false
}

// Parent returns the parent of a process, 0 if that is unknown.
func Parent(pid int) int {
	s, _ := readStat(pid)
	return s.parent
}

// IsEnding reports whether a process has begun to end and is not a zombie yet. It shows no descriptors any more, but the
// kernel may still be closing them, and its kernel locks last until it has.
func IsEnding(pid int) bool {
	const exiting = 4 // PF_EXITING in include/linux/sched.h
	s, ok := readStat(pid)
	return ok && s.state != 'X' && s.state != 'Z' && s.flags&exiting != 0
}

// stat is what is read from proc_pid_stat(5).
type stat struct {
	state  byte   // field 3
	parent int    // field 4
	flags  int    // field 9
	start  string // field 22
}

// readStat reads the stat file of the first thread, which says the same as that of the process: qemu-user makes up
// /proc/PID/stat of its own process with another start time, and everybody else would take the process for dead.
func readStat(pid int) (s stat, ok bool) {
	number := strconv.Itoa(pid)
	text, _ := ReadSmall("/proc/" + number + "/task/" + number + "/stat")
	// The second field is the command in parentheses, and can contain any byte.
	i := bytes.LastIndexByte(text, ')')
	if i < 0 {
		return s, false
	}
	n := 3
	for field := range bytes.FieldsSeq(text[i+1:]) {
		switch n {
		case 3:
			s.state = field[0]
		case 4:
			s.parent, _ = strconv.Atoi(string(field))
		case 9:
			s.flags, _ = strconv.Atoi(string(field))
		case 22:
			s.start = string(field)
			return s, true
		}
		n++
	}
	return s, false
}

// countThreads counts the threads of a process, among them a first one that has ended before the others.
func countThreads(pid int) int {
	tasks, err := Numbers("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ESRCH) {
		return 2 // unknown
	}
	return len(tasks)
}

// exists reports whether a process that cannot be seen in /proc is alive. A pidfd is readable when all threads have ended.
func exists(pid int) bool {
	if fd, err := unix.PidfdOpen(pid, 0); err == nil {
		defer unix.Close(fd)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n == 0 || err != nil
	}
	err := unix.Kill(pid, 0)
	return err == nil || err == unix.EPERM
}

// Descendants returns the descendants of a process, without those in except and theirs. An error is about /proc.
func Descendants(root int, except map[int]bool) (list []int, err error) {
	children := map[int][]int{}
	pids, err := Processes()
	for _, pid := range pids {
		if pid != os.Getpid() && !except[pid] {
			parent := Parent(pid)
			children[parent] = append(children[parent], pid)
		}
	}
	list = children[root]
	for i := 0; i < len(list); i++ {
		list = append(list, children[list[i]]...)
	}
	return list, err
}

// UserID returns the number of the user whose process it is, or "" if that is unknown.
func UserID(pid int) string {
	var stat unix.Stat_t
	if unix.Stat("/proc/"+strconv.Itoa(pid), &stat) != nil {
		return ""
	}
	return strconv.Itoa(int(stat.Uid))
}

// Command returns the command line, the name in brackets where there is none, or "" for a process that has ended.
func Command(pid int) string {
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

// Path returns the name under which a descriptor's file was opened.
func Path(fd int) (string, error) {
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		if errors.Is(unix.Fstat(fd, new(unix.Stat_t)), syscall.EBADF) {
			return "", syscall.EBADF
		}
		return "", errors.New("cannot find the name of its file: " + sys.Text(err))
	}
	var byName, byNumber unix.Stat_t
	if unix.Stat(path, &byName) != nil || unix.Fstat(fd, &byNumber) != nil || !sys.SameFile(&byName, &byNumber) {
		return "", errors.New("its file has no name any more")
	}
	return path, nil
}

func firstLine(path string) string {
	text, _ := ReadSmall(path)
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// ReadSmall reads the beginning of a file, which is all there is of those in /proc that are read with it, without the
// preparations that os.File makes for files one may have to wait for.
func ReadSmall(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var b [4096]byte
	for {
		n, err := unix.Read(fd, b[:])
		if err == unix.EINTR {
			continue
		}
		return bytes.Clone(b[:max(n, 0)]), err
	}
}

// IsStopped reports whether a process is stopped by a signal.
func IsStopped(pid int) bool {
	s, _ := readStat(pid)
	return s.state == 'T' || s.state == 't'
}

// IsCaller reports whether a parent into which we may not look seems to be the one that called us, rather than one that has
// adopted us because the caller has ended: it is of our session, and not process 1.
func IsCaller(parent int) bool {
	its, err := unix.Getsid(parent)
	our, _ := unix.Getsid(0)
	return parent != 1 && err == nil && its == our
}
