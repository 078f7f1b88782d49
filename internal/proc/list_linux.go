package proc

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Processes returns the ids of all processes, in ascending order.
func Processes() (pids []int, err error) {
	fd, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	names, err := Names(fd)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, err
}

// Last returns the id that was given out last to a process or a thread.
func Last() (int, error) {
	fd, err := unix.Open("/proc/loadavg", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	var text [128]byte
	n, err := unix.Read(fd, text[:])
	if err != nil {
		return 0, err
	}
	line := bytes.TrimRight(text[:n], "\n")
	pid, err := strconv.Atoi(string(line[bytes.LastIndexByte(line, ' ')+1:]))
	if err == nil && pid == 0 {
		err = syscall.ENOSYS
	}
	return pid, err
}

// Names reads the names in an open directory, from where it was read last. It needs fewer system calls than os.File.
func Names(dir int) (names []string, err error) {
	b := make([]byte, 8192)
	for {
		n, err := unix.ReadDirent(dir, b)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(b[:n], -1, names)
	}
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
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	_, group, _ := bytes.Cut(status, []byte("\nTgid:\t"))
	return err == nil && bytes.HasPrefix(group, []byte(strconv.Itoa(pid)+"\n"))
}
