package proc

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/sys"
)

// Parent returns the parent of a process, 0 if that is unknown.
func Parent(pid int) int {
	s, _ := ReadStat(pid)
	return s.Parent
}

// ReadStat is Reader.Stat.
func ReadStat(pid int) (Stat, error) { return new(Reader).Stat(pid) }

// Start returns the start of a process that runs, in clock ticks since boot; 0: there is none, or it is unknown.
func Start(pid int) uint64 {
	s, err := ReadStat(pid)
	if err != nil || s.State == 'Z' || CheckOwn() != nil {
		return 0
	}
	return s.Start
}

// CheckOwn reports an error without a /proc of our own pid namespace. In a new namespace, until somebody mounts it
// anew, /proc shows the processes of the old one, and every look into it would be at another process.
func CheckOwn() error {
	if link, err := os.Readlink("/proc/self"); err != nil || link != strconv.Itoa(os.Getpid()) {
		return errors.New("without a /proc of this pid namespace processes cannot be told apart")
	}
	return nil
}

// Children returns the children of a process, as far as they can be seen.
func Children(pid int) []int { return new(Reader).Children(nil, pid, 0) }

// ChildrenOf returns the children of a thread of a process. It needs one descriptor.
func ChildrenOf(pid, thread int) (list []int, err error) {
	return new(Reader).ChildrenOf(nil, pid, thread)
}

// UserID returns the number of the user whose process it is, or "" if that is unknown.
func UserID(pid int) string {
	var stat unix.Stat_t
	if unix.Stat("/proc/"+strconv.Itoa(pid), &stat) != nil {
		return ""
	}
	return strconv.Itoa(int(stat.Uid))
}

// Command returns the command line, the name in brackets where there is none, "" for a process that has ended, or "-"
// for one of another user where /proc hides that (hidepid=1).
func Command(pid int) string {
	dir := "/proc/" + strconv.Itoa(pid)
	text, _ := os.ReadFile(dir + "/cmdline")
	if len(text) == 0 {
		name, err := os.ReadFile(dir + "/comm")
		switch {
		case sys.LacksPermission(err):
			return "-"
		case err != nil:
			return ""
		}
		return "[" + strings.TrimSpace(string(name)) + "]"
	}
	return strings.ReplaceAll(strings.TrimSuffix(string(text), "\x00"), "\x00", " ")
}

// Path returns the name of the file that a descriptor has open. The kernel adds " (deleted)" to the name of a removed
// file and, on FUSE or NFS, to that of a file that was only looked up again.
func Path(fd int) (string, error) {
	link, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	var opened, named unix.Stat_t
	if errors.Is(unix.Fstat(fd, &opened), syscall.EBADF) {
		return "", syscall.EBADF
	}
	if err != nil {
		return "", errors.New("cannot find the name of its file: " + sys.Text(err))
	}
	for _, path := range []string{link, strings.TrimSuffix(link, " (deleted)")} {
		err := unix.Stat(path, &named)
		switch {
		case err == nil && sys.SameFile(&opened, &named):
			return path, nil
		case sys.LacksPermission(err):
			return "", errors.New("cannot find the name of its file: " + sys.Text(err))
		}
	}
	return "", errors.New("its file was deleted, or has no name here")
}

// ReadSmall reads a file of /proc that the kernel writes at once, as stat and fdinfo: a read that does not fill the
// buffer has come to the end. It makes fewer system calls than os.ReadFile.
func ReadSmall(path string) (text []byte, err error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var b [4096]byte
	for n := len(b); n == len(b) && err == nil; {
		n, err = sys.Read(fd, b[:])
		text = append(text, b[:max(n, 0)]...)
	}
	return text, err
}

// Field returns what stands behind a name in a file of /proc with a name, a colon and a tab in each line; "" if nothing
// does. It does not find the name in the first line.
func Field(text []byte, name string) string {
	_, value, _ := bytes.Cut(text, []byte("\n"+name+":\t"))
	value, _, _ = bytes.Cut(value, []byte("\n"))
	return string(value)
}
