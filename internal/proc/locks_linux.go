package proc

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A Lock is a line of /proc/locks, or of fdinfo without the arrow. A lock is == in both.
type Lock struct {
	Waiting    bool
	Kind       string // FLOCK, OFDLCK, POSIX
	Write      bool
	PID        int    // who has asked for it; -1 of an open file description lock
	File       string // device and inode number
	Start, End int64  // the last byte is included
}

func parseLock(line string) (l Lock, ok bool) {
	var number, advisory, mode, end string
	number, rest, isWaiting := strings.Cut(line, "->")
	n, _ := fmt.Sscan(number+rest, &number, &l.Kind, &advisory, &mode, &l.PID, &l.File, &l.Start, &end)
	l.Waiting, l.Write = isWaiting, mode == "WRITE"
	var err error
	if l.End, err = strconv.ParseInt(end, 10, 64); err != nil { // EOF
		l.End = math.MaxInt64
	}
	return l, n == 8 && slices.Contains([]string{"FLOCK", "OFDLCK", "POSIX"}, l.Kind)
}

// LocksIn returns the locks that the fdinfo of a descriptor shows: those of its open file.
func LocksIn(fdinfo []byte) (all []Lock) {
	for line := range strings.Lines(string(fdinfo)) {
		text, isLock := strings.CutPrefix(line, "lock:")
		if l, ok := parseLock(text); ok && isLock {
			all = append(all, l)
		}
	}
	return all
}

// Locks returns those of the locks in /proc/locks that are wanted. One read(2) gives at most a page of it, all of one
// moment; for the next page the kernel finds its place again by counting, so of those around the border a lock is
// missing if another one has ended meanwhile, and comes twice if one has begun. Of several pages, four readings that
// agree count. Their borders are elsewhere, else all could have the same lock twice; two could when many locks came or
// went between them, and moved it from one border to the other.
func Locks(isWanted func(Lock) bool) (list []Lock, err error) {
	page, agreed := os.Getpagesize(), 0
	for i := range 100 {
		text, err := readPages("/proc/locks", page-(i%4)*page/4)
		if err != nil {
			return nil, err
		}
		before := list
		list = nil
		for line := range strings.Lines(string(text)) {
			l, ok := parseLock(line)
			if ok && isWanted(l) && (l.PID <= 0 || !slices.Contains(list, l)) {
				list = append(list, l)
			}
		}
		if agreed++; !slices.Equal(before, list) {
			agreed = 1
		}
		if len(text) < page || agreed == 4 {
			break
		}
	}
	return list, nil
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

// NameInLocks returns how /proc/locks names a file that is open here, with its fdinfo. The kernel takes the number
// of the whole filesystem, which is that of its mounts; on btrfs stat(2) tells that of a subvolume.
func NameInLocks(stat *unix.Stat_t, fdinfo []byte) string {
	major, minor := unix.Major(uint64(stat.Dev)), unix.Minor(uint64(stat.Dev))
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line) // proc_pid_mountinfo(5)
		if len(fields) > 2 && fields[0] == Field(fdinfo, "mnt_id") {
			fmt.Sscanf(fields[2], "%d:%d", &major, &minor)
		}
	}
	inode := Field(fdinfo, "ino")
	if inode == "" {
		inode = strconv.FormatUint(stat.Ino, 10)
	}
	return fmt.Sprintf("%02x:%02x:%s", major, minor, inode)
}
