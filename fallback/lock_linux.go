package fallback

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"example.org/flock/fallback/openfile"
	"example.org/flock/internal/sys"
)

// OpenFile returns the lock on the open file that is our descriptor fd. It lasts until the last descriptor of that open
// file is closed, in whatever process; any process that has the open file can convert and unlock it. dir and path are
// as for Open. Only Linux has this lock.
func OpenFile(dir, path string, fd int) (*Lock, error) {
	if err := CheckFile(fd); err != nil {
		return nil, err
	}
	return &Lock{dir: dir, path: path, fd: fd, file: fd}, nil
}

// CheckFile reports an error if the open file that is our descriptor fd can have no directory lock.
func CheckFile(fd int) error {
	return openfile.Check(fd)
}

// Inherited returns the lock whose lifeline our descriptor fd is (see Inherit), to ask for its Contenders; nil if fd is
// something else. To close the lifeline is all that a process which has inherited it can do to the lock.
func Inherited(fd int) (*Lock, error) {
	var opened, named unix.Stat_t
	if err := unix.Fstat(fd, &opened); err != nil || opened.Mode&unix.S_IFMT != unix.S_IFIFO {
		return nil, err
	}
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return nil, nil // it may be a pipe: without /proc nothing tells
	}
	dir, name := filepath.Split(path)
	word, _, _ := strings.Cut(name, ",")
	_, isLifeline := parseOwner(idOf(name))
	isLifeline = isLifeline && (word == newName || word == waitName || modeOf(word) > 0)
	if !isLifeline || unix.Lstat(path, &named) != nil || !sys.SameFile(&opened, &named) {
		return nil, nil
	}
	dir = filepath.Clean(dir)
	locked, _ := lockedPath(dir)
	return &Lock{dir: dir, path: locked, fd: -1, file: -1}, nil
}

// Openers looks into all processes.
func (s *thisSystem) Openers(records []record) (openers map[string][]int, told openfile.Telling) {
	sought := make([]openfile.Sought, len(records))
	for i, r := range records {
		switch {
		case s.viewer.relation(r.owner.machine) != askable: // nobody here can have it
		case r.file == nil:
			sought[i] = openfile.SoughtFIFO(s.dirfd, r.name)
		default:
			sought[i] = openfile.SoughtFile(r.file, r.verdict == seen)
		}
	}
	openers = map[string][]int{}
	found, told := openfile.Openers(sought)
	for i, r := range records {
		openers[r.name] = found[i]
	}
	return openers, told
}
