package fallback

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/sys"
)

// OpenFile returns the lock on the open file that is our descriptor fd. It lasts until the last descriptor of that open
// file is closed, in whatever process; any process that has the open file can convert and unlock it. dir and path are
// as for OpenIn. Only Linux has this lock.
func OpenFile(dir, path string, fd int) (*Lock, error) {
	if err := CheckFile(fd); err != nil {
		return nil, err
	}
	return &Lock{dir: dir, path: path, fd: fd, file: fd}, nil
}

// CheckFile reports an error if the open file that is our descriptor fd can have no directory lock.
func CheckFile(fd int) error {
	_, mode, err := statID(fd, "")
	if kind := mode & unix.S_IFMT; err == nil && kind != unix.S_IFREG && kind != unix.S_IFDIR {
		return stateError("only the open files of regular files and directories can have a directory lock")
	}
	return err
}

// OpenInherited returns the lock that our descriptor fd has, if fd is a lifeline that this process inherited (see
// Inherit), and nil if it is something else. Any process that has the lifeline can convert and unlock the lock.
func OpenInherited(fd int) (*Lock, error) {
	var opened, named unix.Stat_t
	if err := unix.Fstat(fd, &opened); err != nil || opened.Mode&unix.S_IFMT != unix.S_IFIFO {
		return nil, err
	}
	path, err := os.Readlink(descriptorPath(place{pid: ownPID, number: fd}))
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
	return &Lock{dir: dir, path: locked, fd: -1, file: -1, inherited: idOf(name)}, nil
}
