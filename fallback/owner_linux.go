package fallback

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

func machine() Owner {
	o := Owner{
		Boot:      strings.ReplaceAll(firstLine("/proc/sys/kernel/random/boot_id"), "-", ""),
		Namespace: namespace("pid") + "." + namespace("time"),
	}
	// machine-id(5). It is not to be shown to others, hence the digest.
	id := firstLine("/etc/machine-id")
	if len(id) != 32 {
		id = firstLine("/var/lib/dbus/machine-id")
	}
	if len(id) == 32 {
		o.machine = digest(id)
	}
	return o
}

// namespace returns the inode number from a link like "pid:[4026531836]". Besides process ids, start times are
// counted in a namespace: time_namespaces(7) shift them.
func namespace(kind string) string {
	link, err := os.Readlink("/proc/self/ns/" + kind)
	if err != nil {
		return ""
	}
	_, number, _ := strings.Cut(link, "[")
	return strings.TrimSuffix(number, "]")
}

// procfs reports whether /proc shows the process ids of our own pid namespace. In a new namespace, until somebody
// mounts it anew, it shows those of the old one, and every look into it would be about another process.
var procfs = sync.OnceValue(func() bool {
	link, err := os.Readlink("/proc/self")
	return err == nil && link == strconv.Itoa(os.Getpid())
})

// canTell says why there can be no directory lock, if so: without a /proc of its own a process cannot even be told
// from one with the same id in another pid namespace.
func canTell() error {
	if !procfs() {
		return errors.New("without a /proc of this pid namespace processes cannot be told apart")
	}
	return nil
}

// processStart returns the start time from proc_pid_stat(5), field 22, in clock ticks since boot, and whether the
// process exists. A zombie does not.
func processStart(pid int) (start string, alive bool) {
	// When a thread other than the first one calls execve(2), the first is a zombie for a moment, and then the other
	// one in its place. A zombie that stays one does so more than once.
	for range 5 {
		var state byte
		if state, start = processStat(pid); state == 0 {
			// With the mount option hidepid=2 the processes of other users are not there to be seen, and yet live.
			return "", exists(pid)
		}
		if state != 'X' && state != 'Z' || threads(pid) > 1 {
			return start, true
		}
	}
	return "", false
}

// threads returns how many threads a process has, among them a first one that has ended before the others.
func threads(pid int) int {
	tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ESRCH) {
		return 2 // cannot be told
	}
	return len(tasks)
}

// processStat returns the state and the start time of a process, or 0 if they cannot be read.
func processStat(pid int) (state byte, start string) {
	number := strconv.Itoa(pid)
	// The first thread's stat, which says the same: for /proc/PID/stat of its own process, qemu-user makes one up with
	// another start time, and all others would take the process for dead.
	stat := readSmall("/proc/" + number + "/task/" + number + "/stat")
	// The second field is the command in parentheses, and may itself contain any byte.
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return 0, ""
	}
	fields := bytes.Fields(stat[i+1:]) // from field 3, the state
	if len(fields) < 20 {
		return 0, ""
	}
	return fields[0][0], string(fields[19])
}

func exists(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || err == unix.EPERM
}

func firstLine(path string) string {
	line, _, _ := strings.Cut(string(readSmall(path)), "\n")
	return line
}

// readSmall reads the beginning of a file, all there is of those in /proc, without the preparations that os.File makes
// for files one may have to wait for. It returns nil if there is an error.
func readSmall(path string) []byte {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var b [1024]byte
	for {
		n, err := unix.Read(fd, b[:])
		if err == unix.EINTR {
			continue
		}
		return append([]byte(nil), b[:max(n, 0)]...)
	}
}
