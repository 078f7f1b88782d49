package main

import (
	"bytes"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/fallback"
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
// for: the caller, and the eldest of its ancestors that has the same open file,
// under whatever number; which number is that of the eldest. With a kernel lock
// it would last for both, be the caller a passing subshell or the ancestor a
// script that ends before it. All are 0 if the caller does not have it.
func descriptorOwners(caller, fd int) (eldest, keeper, number int) {
	number, has := callerNumber(caller, fd)
	if !has {
		return 0, 0, 0
	}
	eldest = caller
	for pid := parent(caller); pid > 0; pid = parent(pid) {
		n, same, _ := numberOf(pid, fd)
		if !same {
			break
		}
		eldest, number = pid, n
	}
	return eldest, caller, number
}

// callerNumber returns the number under which the caller has the open file that
// is our descriptor fd, and whether it has it. Where that cannot be known, it
// has if it has the file open at all.
func callerNumber(caller, fd int) (number int, has bool) {
	if number, same, known := numberOf(caller, fd); known {
		return number, same
	}
	if _, err := fallback.Process(caller); err != nil {
		return 0, false // it has ended
	}
	id := fileIdentity(fd)
	if (openedFile{fd: -1}).closedBy(caller, fd, id) {
		return 0, false
	}
	numbers, _ := numbersOf([]string{id}, caller)
	if len(numbers) == 0 || slices.Contains(numbers, fd) {
		return fd, true
	}
	return numbers[0], true
}

// numberOf returns a number under which process pid has the open file that is
// our descriptor fd, fd itself if it can be, and whether it has it.
func numberOf(pid, fd int) (number int, same, known bool) {
	number, known = fd, true
	unseen := notSeen(pid, func() bool {
		if same, known = compareDescriptors(pid, fd, fd); same {
			return true
		}
		numbers, ok := descriptors(pid)
		for _, n := range numbers {
			if same, _ = compareDescriptors(pid, n, fd); same {
				number = n
				return true
			}
		}
		known = known && ok
		return !known
	})
	return number, known && !unseen, known
}

// sameDescriptor reports whether descriptor number of process pid is, for
// certain, the same open file as our fd. Without kcmp(2), which some container
// runtimes forbid, nothing is certain.
func sameDescriptor(pid, number, fd int) bool {
	same, _ := compareDescriptors(pid, number, fd)
	return same
}

// hasDescriptor reports whether process pid has, for certain, the open file
// that is our fd.
func hasDescriptor(pid, fd int) bool {
	_, same, _ := numberOf(pid, fd)
	return same
}

func compareDescriptors(pid, number, fd int) (same, known bool) {
	return compareOpenFiles(pid, number, syscall.Getpid(), fd)
}

// compareOpenFiles reports whether descriptor n of process p and m of q are one
// open file, and whether kcmp(2) could tell.
func compareOpenFiles(p, n, q, m int) (same, known bool) {
	const kcmpFile = 0
	order, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(p), uintptr(q), kcmpFile, uintptr(n), uintptr(m), 0)
	switch errno {
	case 0:
		return order == 0, true
	case unix.EBADF, unix.ESRCH:
		return false, true
	}
	return false, false
}

// closedBy reports whether process pid has, for certain, no descriptor of the
// file any more, except for open files that have no lock: ours, and those by
// which others wait. That which it locked has number, but a shell moves it out
// of the way while a function runs with another one there. id is the identity
// that the file had then.
func (f openedFile) closedBy(pid, number int, id string) bool {
	return notSeen(pid, func() bool {
		ids := f.identities(id)
		if isOneOf(ids, pid, number) && !f.isOurs(pid, number) {
			return true
		}
		numbers, ok := numbersOf(ids, pid)
		return !ok || slices.ContainsFunc(numbers, func(n int) bool {
			return !f.isOurs(pid, n) && !f.isAwaited(ids, pid, n)
		})
	})
}

// isAwaited reports whether another flock waits for the lock by the open file
// that is descriptor number of process pid. Of one that has several open files
// of the lock it is not known by which it waits. Another program can wait for
// the lock without an open file.
func (f openedFile) isAwaited(ids []string, pid, number int) bool {
	return f.waiters != nil && slices.ContainsFunc(f.waiters(), func(waiter int) bool {
		numbers, ok := numbersOf(ids, waiter)
		return ok && isFlock(waiter) && len(numbers) > 0 && !slices.ContainsFunc(numbers, func(n int) bool {
			same, _ := compareOpenFiles(waiter, n, pid, number)
			return !same
		})
	})
}

// isFlock reports whether process pid runs this program.
func isFlock(pid int) bool {
	var its, our unix.Stat_t
	return unix.Stat("/proc/"+strconv.Itoa(pid)+"/exe", &its) == nil && unix.Stat("/proc/self/exe", &our) == nil &&
		sameFile(&its, &our)
}

func (f openedFile) isOurs(pid, number int) bool {
	return f.fd >= 0 && sameDescriptor(pid, number, f.fd)
}

// identities returns those that the file can have: what it had when it was
// locked, and what its name has now. When overlayfs copies a file up its device
// and inode number can change, and those of an open descriptor with them.
func (f openedFile) identities(locked string) []string {
	var stat unix.Stat_t
	if f.path == "" || unix.Stat(f.path, &stat) != nil {
		return []string{locked}
	}
	return []string{locked, identity(&stat)}
}

// isOneOf reports whether descriptor number of process pid is, or may be, one
// of a file with one of these identities.
func isOneOf(ids []string, pid, number int) bool {
	var stat unix.Stat_t
	if err := unix.Stat(fdDir(pid)+strconv.Itoa(number), &stat); err != nil {
		return err != unix.ENOENT
	}
	return slices.Contains(ids, identity(&stat))
}

// numbersOf returns the descriptors of a file with one of these identities, and
// of what may be one, that process pid has. ok is false if its descriptors
// cannot be seen.
func numbersOf(ids []string, pid int) (numbers []int, ok bool) {
	all, ok := descriptors(pid)
	for _, n := range all {
		if isOneOf(ids, pid, n) {
			numbers = append(numbers, n)
		}
	}
	return numbers, ok
}

// descriptors returns the numbers of the descriptors of process pid. ok is
// false if there are none: they are not for us to see, or the first thread has
// ended before others.
func descriptors(pid int) (numbers []int, ok bool) {
	entries, err := os.ReadDir(fdDir(pid))
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, err == nil && len(numbers) > 0
}

func fdDir(pid int) string { return "/proc/" + strconv.Itoa(pid) + "/fd/" }

// notSeen looks for something among the descriptors of process pid, and reports
// whether it is, for certain, not there. One look is no proof: the descriptor
// can be moved to a number that the look has passed, and back. A look during
// which no thread of the process ran is proof, but for a rare mistake: a thread
// that is about to sleep looks asleep before its switch is counted. Hence three
// of those. For a process that runs all the time it takes many looks, at random
// times: 1 of 10 misses a descriptor that is moved without a pause.
func notSeen(pid int, look func() bool) bool {
	if look() {
		return false
	}
	idle := 0
	for range 50 {
		before := switches(pid)
		if look() {
			return false
		}
		if before != "" && before == switches(pid) {
			if idle++; idle == 3 {
				return true
			}
			continue
		}
		time.Sleep(rand.N(2 * time.Millisecond))
	}
	return true
}

// switches returns how many times each thread of a process was taken from its
// CPU, from proc_pid_status(5), or nothing if one of them is running.
func switches(pid int) string {
	dir := "/proc/" + strconv.Itoa(pid) + "/task/"
	tasks, _ := os.ReadDir(dir)
	all := ""
	for _, task := range tasks {
		text, err := os.ReadFile(dir + task.Name() + "/status")
		_, counts, found := bytes.Cut(text, []byte("\nvoluntary_ctxt_switches:"))
		if err != nil || !found || bytes.Contains(text, []byte("\nState:\tR")) {
			return ""
		}
		all += task.Name() + string(counts)
	}
	return all
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
