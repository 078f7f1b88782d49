package proc

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/sys"
)

// Numbers returns the names in a directory of /proc that are numbers, in ascending order.
func Numbers(dir string) (list []int, err error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	names, err := sys.Names(fd)
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, err
}

// Processes returns the ids of all processes, in ascending order. A /proc without this one is an error.
func Processes() (pids []int, err error) {
	pids, err = Numbers("/proc")
	if err == nil && !slices.Contains(pids, os.Getpid()) {
		err = &fs.PathError{Op: "readlink", Path: "/proc/self", Err: unix.ENOENT}
	}
	return pids, err
}

// Last returns the id that was given out last to a process or a thread. LXC puts a file of its own over /proc/loadavg
// (lxcfs), whose ids are those of the host: that is an error.
func Last() (int, error) {
	var of unix.Statfs_t
	if err := unix.Statfs("/proc/loadavg", &of); err != nil || of.Type != unix.PROC_SUPER_MAGIC {
		return 0, syscall.ENOSYS
	}
	text, err := ReadSmall("/proc/loadavg")
	if err != nil {
		return 0, err
	}
	line := bytes.TrimRight(text, "\n")
	pid, err := strconv.Atoi(string(line[bytes.LastIndexByte(line, ' ')+1:]))
	if err == nil && pid == 0 {
		err = syscall.ENOSYS
	}
	return pid, err
}

// IsProcess reports whether there is a process with this id, rather than a thread of one or nothing.
func IsProcess(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	switch err {
	case nil:
		unix.Close(fd)
		return true
	case unix.ESRCH, unix.EINVAL, unix.ENOENT:
		return false
	}
	status, err := ReadSmall("/proc/" + strconv.Itoa(pid) + "/status")
	_, group, _ := bytes.Cut(status, []byte("\nTgid:\t"))
	return err == nil && bytes.HasPrefix(group, []byte(strconv.Itoa(pid)+"\n"))
}

// MayDescend reports whether a process may be a descendant of this one. It was not started earlier then, and the first of
// its ancestors that was is one of those who adopt orphans: our ancestors, process 1, and that of a pid namespace which a
// descendant has entered.
func MayDescend(pid int) bool {
	start, adopters := lineage()
	for first := pid; ; {
		s, ok := readStat(pid)
		switch {
		case !ok: // it has ended
			return true
		case len(s.start) < len(start) || len(s.start) == len(start) && s.start < start:
			return pid != first && isInit(pid)
		case s.parent <= 1 || slices.Contains(adopters, s.parent):
			return true
		}
		pid = s.parent
	}
}

// ourNamespace is the pid namespace of this process.
var ourNamespace = sync.OnceValue(func() string { return namespace("self", "pid") })

// isInit reports whether a process may be the first one of its pid namespace.
func isInit(pid int) bool {
	if in := namespace(strconv.Itoa(pid), "pid"); in != "" && in == ourNamespace() {
		return pid == 1
	}
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	_, line, _ := bytes.Cut(status, []byte("\nNSpid:"))
	line, _, _ = bytes.Cut(line, []byte("\n"))
	return err != nil || bytes.HasSuffix(line, []byte("\t1"))
}

// lineage returns when this process was started, itself and its ancestors.
var lineage = sync.OnceValues(func() (start string, pids []int) {
	s, _ := readStat(os.Getpid())
	for pid := os.Getpid(); pid > 0; pid = Parent(pid) {
		pids = append(pids, pid)
	}
	return s.start, pids
})

// Maker returns the parent of a process, or 0 if that is of another session: then it may have adopted the process, as the
// manager of a user's services does.
func Maker(pid int) int {
	parent := Parent(pid)
	its, err := unix.Getsid(pid)
	session, err2 := unix.Getsid(parent)
	if err != nil || err2 != nil || its != session {
		return 0
	}
	return parent
}

// Age returns how long ago a process with this start time was started, see Start.
func Age(start string) time.Duration {
	const tick = 10 * time.Millisecond // sysconf(_SC_CLK_TCK) is 100 on every Linux
	ticks, err := strconv.ParseInt(start, 10, 64)
	var now unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return math.MaxInt64
	}
	return time.Duration(now.Nano()) - time.Duration(ticks)*tick
}
