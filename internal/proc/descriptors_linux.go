package proc

import (
	"bytes"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// FindDescriptor returns a number under which process pid has the open file that is our descriptor fd, and whether it has
// it. The number is fd where the process has the file under that one, too. Where kcmp(2) is forbidden, as some container
// runtimes do, it is not known.
func FindDescriptor(pid, fd int) (number int, found, known bool) {
	var same bool
	number, known = fd, true
	unseen := isAbsent(pid, func() bool {
		if same, known = SameOpenFile(pid, fd, fd); same {
			return true
		}
		numbers, ok := descriptors(pid)
		for _, n := range numbers {
			if same, _ = SameOpenFile(pid, n, fd); same {
				number = n
				return true
			}
		}
		known = known && ok
		return !known
	})
	return number, known && !unseen, known
}

// SameOpenFile reports whether a descriptor of process pid is the same open file as our descriptor fd, and whether that is
// known.
func SameOpenFile(pid, number, fd int) (same, known bool) {
	return compareOpenFiles(pid, number, syscall.Getpid(), fd)
}

// compareOpenFiles reports whether descriptor n of process p and m of q are one open file, and whether kcmp(2) could tell.
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

// ClosedBy reports whether process pid has, for certain, no descriptor of the file any more, except for open files that do
// not count. The one that it locked has number, but a shell moves it to another while a function runs with another file
// there. id is the identity that the file had when it was locked.
func (f OpenedFile) ClosedBy(pid, number int, id string) bool {
	return isAbsent(pid, func() bool {
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

// Descriptors returns the descriptors of the file that process pid has, as far as they can be seen.
func (f OpenedFile) Descriptors(pid int, id string) []int {
	numbers, _ := numbersOf(f.identities(id), pid)
	return numbers
}

// DescriptorName returns the name in /proc of a descriptor of process pid if that has the identity id, else "", and whether
// the descriptors of the process can be seen at all.
func DescriptorName(pid, number int, id string) (name string, visible bool) {
	name = fdDir(pid) + strconv.Itoa(number)
	var stat unix.Stat_t
	if unix.Stat(name, &stat) == nil && identity(&stat) == id {
		return name, true
	}
	dir, err := os.Open(fdDir(pid))
	if err != nil {
		return "", false
	}
	dir.Close()
	return "", true
}

// isAwaited reports whether another flock waits for the lock by the open file that is descriptor number of process pid. Of
// one that has several open files of the lock it is unknown by which it waits. Another program can wait for the lock without
// an open file.
func (f OpenedFile) isAwaited(ids []string, pid, number int) bool {
	return f.Waiters != nil && slices.ContainsFunc(f.Waiters(), func(waiter int) bool {
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

func (f OpenedFile) isOurs(pid, number int) bool {
	if f.FD < 0 {
		return false
	}
	same, _ := SameOpenFile(pid, number, f.FD)
	return same
}

// identities returns those that the file can have: what it had when it was
// locked, and what its name has now. When overlayfs copies a file up its device
// and inode number can change, and those of an open descriptor with them.
func (f OpenedFile) identities(locked string) []string {
	var stat unix.Stat_t
	if f.Path == "" || unix.Stat(f.Path, &stat) != nil {
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

// isAbsent looks for something among the descriptors of process pid, and reports whether it is, for certain, not there.
// One look is no proof: the process can move the descriptor to a number that the look has passed, and back. A look during
// which no thread of the process ran is proof, but for a rare mistake: a thread that is about to sleep looks asleep before
// its switch is counted. So it takes three of those. For a process that runs all the time it takes many looks, at random
// times: 1 of 10 misses a descriptor that is moved without a pause.
func isAbsent(pid int, look func() bool) bool {
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

// FileID returns the identity of an open file, "" if it is not open.
func FileID(fd int) string {
	var stat unix.Stat_t
	if unix.Fstat(fd, &stat) != nil {
		return ""
	}
	return identity(&stat)
}

// identity tells a file from every other one, in a word that is short enough for a file name.
func identity(stat *unix.Stat_t) string {
	h := fnv.New64a()
	h.Write([]byte(strconv.FormatUint(uint64(stat.Dev), 36) + " " + strconv.FormatUint(stat.Ino, 36)))
	return strconv.FormatUint(h.Sum64(), 36)
}
