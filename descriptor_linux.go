package main

import (
	"bytes"
	"errors"
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

// descriptorOwner returns the process that a lock on our descriptor fd is for:
// the caller, or the eldest of its ancestors that has the same open file under
// the same number, since with a kernel lock it would be locked there too.
func descriptorOwner(fd int) int {
	owner := syscall.Getppid()
	for pid := owner; pid > 1 && sameDescriptor(pid, fd, fd); pid = parent(pid) {
		owner = pid
	}
	return owner
}

// sameDescriptor reports whether descriptor number of process pid is the same
// open file as our fd; where the kernel does not tell, whether it looks so.
func sameDescriptor(pid, number, fd int) bool {
	const kcmpFile = 0
	order, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(pid), uintptr(syscall.Getpid()), kcmpFile,
		uintptr(number), uintptr(fd), 0)
	switch errno {
	case 0:
		return order == 0
	case unix.EBADF, unix.ESRCH:
		return false
	}
	return number == fd && isAncestor(pid) && !hasClosed(pid, number, fd)
}

// hasClosed reports whether descriptor number of process pid is, for certain,
// not the file of our fd any more.
func hasClosed(pid, number, fd int) bool {
	var theirs, ours unix.Stat_t
	switch unix.Stat("/proc/"+strconv.Itoa(pid)+"/fd/"+strconv.Itoa(number), &theirs) {
	case nil:
		return unix.Fstat(fd, &ours) == nil && !sameFile(&theirs, &ours)
	case unix.ENOENT:
		return unix.Access("/proc/"+strconv.Itoa(pid)+"/fd", unix.X_OK) == nil
	}
	return false
}

func sameFile(a, b *unix.Stat_t) bool { return a.Dev == b.Dev && a.Ino == b.Ino }

func isAncestor(pid int) bool {
	for p := syscall.Getppid(); p > 1; p = parent(p) {
		if p == pid {
			return true
		}
	}
	return false
}

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
