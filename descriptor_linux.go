package main

import (
	"bytes"
	"errors"
	"hash/fnv"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// What can be known of open descriptors, our own and other processes'.

// descriptorPath returns the name under which a descriptor's file was opened.
func descriptorPath(fd int) (string, error) {
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		if errors.Is(unix.Fstat(fd, new(unix.Stat_t)), syscall.EBADF) {
			return "", syscall.EBADF
		}
		return "", errors.New("cannot find the name of its file: " + reason(err))
	}
	var byName, byNumber unix.Stat_t
	if unix.Stat(path, &byName) != nil || unix.Fstat(fd, &byNumber) != nil || !sameFile(&byName, &byNumber) {
		return "", errors.New("its file has no name any more")
	}
	return path, nil
}

// descriptorOwners returns the processes that a lock on our descriptor fd is
// for: the caller, and the eldest of its ancestors that has the same open file
// under the same number. With a kernel lock it would last for both, be the
// caller a passing subshell or the ancestor a script that ends before it.
//
// If not even the caller has it, nobody will when we are done: the lock is our
// own.
func descriptorOwners(caller, fd int) (eldest, keeper int) {
	if !callerHas(caller, fd) {
		return syscall.Getpid(), 0
	}
	eldest = caller
	for pid := parent(caller); pid > 1 && sameDescriptor(pid, fd, fd); pid = parent(pid) {
		eldest = pid
	}
	return eldest, caller
}

// callerHas reports whether the caller has our descriptor fd, too. Where that
// cannot be known, it has.
func callerHas(caller, fd int) bool {
	if same, known := compareDescriptors(caller, fd, fd); known {
		return same
	}
	return !hasClosed(caller, fd, fileIdentity(fd))
}

// sameDescriptor reports whether descriptor number of process pid is, for
// certain, the same open file as our fd. Without kcmp(2), which some container
// runtimes forbid, nothing is certain.
func sameDescriptor(pid, number, fd int) bool {
	same, _ := compareDescriptors(pid, number, fd)
	return same
}

func compareDescriptors(pid, number, fd int) (same, known bool) {
	const kcmpFile = 0
	order, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(pid), uintptr(syscall.Getpid()), kcmpFile,
		uintptr(number), uintptr(fd), 0)
	switch errno {
	case 0:
		return order == 0, true
	case unix.EBADF, unix.ESRCH:
		return false, true
	}
	return false, false
}

// hasClosed reports whether process pid has, for certain, no descriptor of the
// file any more. That which it locked has number, but a shell moves it out of
// the way while a function runs with another one there.
func hasClosed(pid, number int, file string) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd/"
	var stat unix.Stat_t
	if unix.Stat(dir+strconv.Itoa(number), &stat) == nil && identity(&stat) == file {
		return false
	}
	// More than once: it may be moved to and fro while we look.
	for range 3 {
		descriptors, err := os.ReadDir(dir)
		if err != nil || len(descriptors) == 0 {
			return false // not for us to see; or the first thread has ended before others
		}
		for _, d := range descriptors {
			err := unix.Stat(dir+d.Name(), &stat)
			if err == nil && identity(&stat) == file || err != nil && err != unix.ENOENT {
				return false
			}
		}
	}
	return true
}

func (f *lockFile) identity() string { return fileIdentity(f.fd) }

func fileIdentity(fd int) string {
	var stat unix.Stat_t
	if unix.Fstat(fd, &stat) != nil {
		return ""
	}
	return identity(&stat)
}

// identity tells a file from every other one, in a word for an owner's tag.
func identity(stat *unix.Stat_t) string {
	h := fnv.New64a()
	h.Write([]byte(strconv.FormatUint(uint64(stat.Dev), 36) + " " + strconv.FormatUint(stat.Ino, 36)))
	return strconv.FormatUint(h.Sum64(), 36)
}

func sameFile(a, b *unix.Stat_t) bool { return a.Dev == b.Dev && a.Ino == b.Ino }

// parent returns the parent of a process from proc_pid_stat(5), 0 if that
// cannot be read.
func parent(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if err != nil || len(fields) < 2 {
		return 0
	}
	ppid, _ := strconv.Atoi(fields[1])
	return ppid
}
