package openfile

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

// flag returns the status flag of a mark.
func (m Mark) flag() int {
	switch m {
	case NoAtime:
		return unix.O_NOATIME
	case NonBlock:
		return unix.O_NONBLOCK
	}
	return 0
}

// Stat returns the kind of a descriptor's file, and its identity: a word that tells it from every other file, "" if it is
// not open.
func Stat(fd int) (k Kind, identity string) {
	k, identity, _ = stat(fd, "", unix.AT_EMPTY_PATH)
	return k, identity
}

// CanMark reports whether the open file of a descriptor can be marked: /proc shows its flags. Only the access mode is
// compared, because nobody can change that between the looks.
func CanMark(fd int) bool {
	flags, err := flagsOf(fd)
	shown, seen := flagsShown("/proc/self/", fd)
	return err == nil && seen == Found && shown&unix.O_ACCMODE == flags&unix.O_ACCMODE
}

// Set marks the open file of a descriptor, and returns the mark. It is None where no flag is to be had: the file is
// somebody else's, and O_NONBLOCK was there before.
func Set(fd int) Mark {
	flags, err := flagsOf(fd)
	switch {
	case err != nil:
		return None
	case flags&unix.O_NOATIME != 0, setFlags(fd, flags|unix.O_NOATIME) == nil:
		return NoAtime
	case flags&unix.O_NONBLOCK == 0 && setFlag(fd, unix.O_NONBLOCK, true) == nil:
		return NonBlock
	}
	return None
}

// Clear removes a mark.
func Clear(fd int, m Mark) {
	if Has(fd, m) {
		setFlag(fd, m.flag(), false)
	}
}

// Has reports whether the open file of a descriptor has the mark.
func Has(fd int, m Mark) bool {
	flags, err := flagsOf(fd)
	return err == nil && flags&m.flag() != 0
}

func flagsOf(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0) }

func setFlags(fd, flags int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags)
	return err
}

// IdentityOf returns the identity of the file called path.
func IdentityOf(path string) string {
	_, identity, _ := stat(unix.AT_FDCWD, path, 0)
	return identity
}

// stat returns the kind and the identity of a file, with the time of its birth where that is known: a file that is removed
// can leave its inode number to another.
func stat(dir int, path string, flags int) (k Kind, identity string, err error) {
	var s unix.Statx_t
	if err = unix.Statx(dir, path, flags, unix.STATX_TYPE|unix.STATX_INO|unix.STATX_BTIME, &s); err != nil {
		return Other, "", err
	}
	switch s.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		k = Regular
	case unix.S_IFDIR:
		k = Directory
	}
	h := fnv.New64a()
	for _, n := range []uint64{uint64(s.Dev_major), uint64(s.Dev_minor), s.Ino, uint64(s.Btime.Sec), uint64(s.Btime.Nsec)} {
		h.Write(binary.LittleEndian.AppendUint64(nil, n))
	}
	return k, strconv.FormatUint(h.Sum64(), 36), nil
}

// At looks at descriptor number of process pid.
func (s Search) At(pid, number int) State {
	state := s.at(procDir(pid), number)
	switch {
	case state != Absent:
		return state
	case unix.Kill(pid, 0) == unix.ESRCH:
		return Gone
	case !isVisible(pid):
		return Hidden
	}
	for _, thread := range otherThreads(pid) {
		if state := s.at(procDir(thread), number); state != Absent {
			return state
		}
	}
	if proc.IsEnding(pid) {
		return Hidden
	}
	return Absent
}

// at looks at a descriptor in a directory of /proc. The mark comes first: a stat(2) of an open file can hang if its
// server is gone.
func (s Search) at(dir string, number int) State {
	if s.Mark != None {
		flags, state := flagsShown(dir, number)
		switch {
		case state != Found:
			return state
		case flags&s.Mark.flag() == 0:
			return Absent
		}
	}
	return s.compare(dir, number)
}

// Unmarked reports whether descriptor number of process pid is an open file without the mark.
func (s Search) Unmarked(pid, number int) bool {
	flags, state := flagsShown(procDir(pid), number)
	return state == Found && flags&s.Mark.flag() == 0 && s.compare(procDir(pid), number) != Absent
}

// compare looks which file a descriptor is.
func (s Search) compare(dir string, number int) State {
	switch _, identity, err := stat(unix.AT_FDCWD, dir+"fd/"+strconv.Itoa(number), 0); {
	case err == unix.ENOENT || err == unix.ESRCH:
		return Absent
	case err != nil:
		return Hidden
	case slices.Contains(s.Files, identity):
		return Found
	}
	return Absent
}

// program is the path of the program that this process runs.
var program = sync.OnceValue(func() string {
	path, _ := os.Readlink("/proc/self/exe")
	return path
})

// Moves reports whether a process may be moving its descriptors: it runs.
func Moves(pid int) bool { return hasRun(pid, Activity(pid)) }

// Activity returns a word that changes when a process runs, "" while it runs. This program does not move descriptors, so of
// another process of it the word stays the same.
func Activity(pid int) string {
	if path, err := os.Readlink(procDir(pid) + "exe"); err == nil && path == program() {
		return path
	}
	return switchesOf(pid)
}

// KeepStill removes from words, by process, what Activity has returned for processes that may have run since.
func KeepStill(words map[int]string) {
	for range 2 {
		maps.DeleteFunc(words, func(pid int, word string) bool { return !isStill(pid, word) })
		spin(untilCounted)
	}
}

// untilCounted is more than the time from when a process says that it sleeps until that is counted.
const untilCounted = 20 * time.Microsecond

// mostThreads is how many threads of a process are looked at: programs with more do not move descriptors.
const mostThreads = 64

// switchesOf returns how often the threads of a process were given a processor and gave it up, "" while one of them runs.
func switchesOf(pid int) string {
	word, alone := switchesOfThread(procDir(pid))
	if alone || word == "" {
		return word
	}
	threads := otherThreads(pid)
	for _, thread := range threads[:min(mostThreads, len(threads))] {
		its, _ := switchesOfThread(procDir(pid) + "task/" + strconv.Itoa(thread) + "/")
		if its == "" {
			return ""
		}
		word += its
	}
	return word
}

// switchesOfThread reads the status file in a directory of /proc. alone says that the process has no other threads.
func switchesOfThread(dir string) (word string, alone bool) {
	text, _ := proc.ReadSmall(dir + "status")
	_, rest, _ := bytes.Cut(text, []byte("\nState:\t"))
	_, switches, found := bytes.Cut(rest, []byte("\nvoluntary_ctxt_switches:"))
	if !found || rest[0] == 'R' {
		return "", false
	}
	return string(switches), bytes.Contains(rest, []byte("\nThreads:\t1\n"))
}

// isStill reports whether a process seems not to have run since Activity returned a word.
func isStill(pid int, word string) bool {
	return word != "" && (word == program() || word == switchesOf(pid))
}

// hasRun reports whether a process may have run since Activity returned before.
func hasRun(pid int, before string) bool {
	if !isStill(pid, before) {
		return true
	}
	if before == program() {
		return false
	}
	spin(untilCounted)
	return !isStill(pid, before)
}

// Find returns the number under which process pid has the open file that is our descriptor fd; number is looked at first,
// and with elsewhere the others, too. Where kcmp(2) is not to be had, any open file of the same file will do.
func Find(pid, number, fd int, elsewhere bool) (found int, state State) {
	_, identity := Stat(fd)
	s := Search{Files: []string{identity}, Ours: &fd}
	if state = s.At(pid, number); state == Found {
		if c := compare(pid, number, os.Getpid(), fd); c == Different || c == Unsure {
			state = Absent
		}
	}
	if state != Absent || !elsewhere {
		return number, state
	}
	switch numbers, visible := s.In(pid, true); {
	case !visible:
		return 0, Hidden
	case len(numbers) == 0:
		return 0, Absent
	case numbers[0] > LastOfUser: // for a while
		return number, Found
	default:
		return numbers[0], Found
	}
}

// Compare compares two descriptors that were found. If not steady, it takes no notice of descriptors that move, which is
// much faster.
func (s Search) Compare(pid, number, pid2, number2 int, steady bool) Comparison {
	once := func() Comparison { return compare(pid, number, pid2, number2) }
	if c := once(); c == Unknown {
		return s.compareBothWithOurs(pid, number, pid2, number2)
	} else if !steady {
		return c
	}
	isThere := func() bool { return s.At(pid, number) == Found && s.At(pid2, number2) == Found }
	c := steadily(once, oftenEnough, isThere)
	if c == Unsure {
		c = steadily(func() Comparison {
			fd2, err := s.copyOf(pid2, number2)
			if err != nil {
				return Unsure
			}
			defer unix.Close(fd2)
			return s.compareCopy(pid, number, fd2)
		}, oftenEnough, always)
	}
	return c
}

func always() bool { return true }

// compareBothWithOurs compares two descriptors without kcmp(2) if one of them is the open file of a descriptor of ours.
func (s Search) compareBothWithOurs(pid, number, pid2, number2 int) Comparison {
	if s.Mark != NoAtime { // the flag that NonBlock leaves cannot be changed alone, and others may change flags at the same time
		return Unknown
	}
	ours, _ := Search{Files: s.Files, Mark: s.Mark}.In(os.Getpid(), false)
	for _, fd := range ours {
		c, c2 := s.CompareOurs(pid, number, fd, true), s.CompareOurs(pid2, number2, fd, true)
		if c == Equal && c2 >= Different {
			return c2
		}
		if c2 == Equal && c >= Different {
			return c
		}
	}
	return Unknown
}

// compareCopy compares a copy of a descriptor, which moves, with our descriptor fd.
func (s Search) compareCopy(pid, number, fd int) Comparison {
	copied, err := s.copyOf(pid, number)
	if err != nil {
		return Unsure
	}
	defer unix.Close(copied)
	if c := compare(os.Getpid(), copied, os.Getpid(), fd); c != Unknown {
		return c
	}
	return Unsure
}

// copyOf returns a copy of a descriptor of another process, as soon as an open file to be found is there. That needs more
// rights than kcmp(2): those of ptrace(2), which Yama can restrict (/proc/sys/kernel/yama/ptrace_scope).
func (s Search) copyOf(pid, number int) (fd int, err error) {
	const limit = 10 * time.Millisecond
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(process)
	for start := time.Now(); time.Since(start) < limit; spin(rand.N(10 * time.Microsecond)) {
		fd, err = unix.PidfdGetfd(process, number, 0)
		switch {
		case err == nil && s.at("/proc/self/", fd) == Found:
			return fd, nil
		case err == nil:
			unix.Close(fd)
		case err != unix.EBADF:
			return -1, err
		}
	}
	return -1, unix.EBADF
}

// CompareOurs compares a descriptor that was found with our descriptor fd, whose open file has the mark; see Compare.
// Without kcmp(2) it sets and clears another flag of ours in a random order, and looks whether that of the other descriptor
// follows.
func (s Search) CompareOurs(pid, number, fd int, steady bool) Comparison {
	once, times := func() Comparison { return compare(pid, number, os.Getpid(), fd) }, oftenEnough
	c := once()
	if c == Unknown { // then one comparison takes many looks
		once, times = func() Comparison { return compareFlags(pid, number, fd, s.Mark) }, 3
		c = once()
	}
	if !steady {
		return c
	}
	c = steadily(once, times, func() bool { return s.At(pid, number) == Found })
	if c == Unsure {
		c = steadily(func() Comparison { return s.compareCopy(pid, number, fd) }, oftenEnough, always)
	}
	return c
}

// oftenEnough is how often the answer of kcmp(2) has to be the same.
const oftenEnough = 7

// steadily compares until the answer is certain. A descriptor can be moved meanwhile, and another open file be there: so the
// answer has to be the same several times, with what was found there in between. If the first answers agree it does not
// matter how long they took.
func steadily(once func() Comparison, times int, isThere func() bool) Comparison {
	const most, limit = 60, 50 * time.Millisecond
	start := time.Now()
	last, n := Unknown, 0
	for tries := 0; tries < times || tries < most && time.Since(start) < limit; tries++ {
		c := once()
		switch {
		case c == Unknown:
			return c
		case c == last && (c == Unsure || isThere()):
			n++
		default:
			n = 1
		}
		last = c
		if n == times {
			return c
		}
		spin(rand.N(10 * time.Microsecond)) // so as not to keep step with the process
	}
	return Unsure
}

// compare compares two descriptors of two processes with kcmp(2).
func compare(pid, number, pid2, number2 int) Comparison {
	order, errno := kcmp(pid, number, pid2, number2)
	if errno == unix.EBADF || errno == unix.ESRCH {
		for _, thread := range append(otherThreads(pid), pid) {
			for _, thread2 := range append(otherThreads(pid2), pid2) {
				if errno != 0 {
					order, errno = kcmp(thread, number, thread2, number2)
				}
			}
		}
	}
	switch {
	case errno == 0 && order == 0:
		return Equal
	case errno == 0:
		return Different
	case errno == unix.EBADF || errno == unix.ESRCH:
		return Unsure
	}
	return Unknown
}

func kcmp(pid, number, pid2, number2 int) (order uintptr, errno unix.Errno) {
	const kcmpFile = 0
	order, _, errno = unix.Syscall6(unix.SYS_KCMP, uintptr(pid), uintptr(pid2), kcmpFile, uintptr(number), uintptr(number2), 0)
	return order, errno
}

// compareFlags compares a descriptor with ours, whose open file has the mark m, without kcmp(2).
func compareFlags(pid, number, fd int, m Mark) Comparison {
	flags, err := flagsOf(fd)
	if err != nil {
		return Unknown
	}
	flag := unix.O_NONBLOCK
	if m == NonBlock {
		flag = unix.O_NOATIME
		if flags&unix.O_ACCMODE == unix.O_RDONLY { // where it means nothing, and everybody may set it
			flag = unix.O_APPEND
		}
	}
	for range 100 { // as long as others do the same, no longer than a twentieth of a second
		c, isContested := compareFlag(procDir(pid), number, fd, flag)
		setFlag(fd, flag, flags&flag != 0)
		if !isContested {
			return c
		}
		sys.Sleep(rand.N(time.Millisecond))
	}
	return Unsure
}

// compareFlag returns Equal if a flag of another descriptor is always what it was set to for ours. isContested says that it
// is not, and has changed all the same: somebody else who has that open file may be doing the same.
func compareFlag(dir string, number, fd, flag int) (c Comparison, isContested bool) {
	const rounds = 20
	matches, shownOn := 0, 0
	for pattern, n := rand.Uint32(), 0; n < rounds; pattern, n = pattern>>1, n+1 {
		isOn := pattern&1 != 0
		if setFlag(fd, flag, isOn) != nil {
			return Unknown, false
		}
		shown, state := flagsShown(dir, number)
		switch state {
		case Hidden:
			return Unknown, false
		case Absent:
			return Unsure, false
		}
		if shown&flag != 0 {
			shownOn++
		}
		if shown&flag != 0 == isOn {
			matches++
		}
	}
	if matches == rounds {
		return Equal, false
	}
	return Different, shownOn > 0 && shownOn < rounds
}

// setFlag sets or clears a status flag. With O_NONBLOCK it changes no other flag, as fcntl(2) cannot.
func setFlag(fd, flag int, on bool) error {
	if flag == unix.O_NONBLOCK {
		value := 0
		if on {
			value = 1
		}
		return unix.IoctlSetPointerInt(fd, fionbio(), value)
	}
	flags, err := flagsOf(fd)
	switch {
	case err != nil:
		return err
	case on:
		return setFlags(fd, flags|flag)
	}
	return setFlags(fd, flags&^flag)
}

// fionbio returns FIONBIO of ioctl(2), which x/sys/unix does not have.
func fionbio() uint {
	switch runtime.GOARCH {
	case "mips", "mipsle", "mips64", "mips64le":
		return 0x667e
	case "ppc64", "ppc64le":
		return 0x8004667e
	}
	return 0x5421
}

// flagsShown reads the status flags of a descriptor in a directory of /proc.
func flagsShown(dir string, number int) (flags int, state State) {
	return parseFlags(proc.ReadSmall(dir + "fdinfo/" + strconv.Itoa(number)))
}

func parseFlags(text []byte, err error) (flags int, state State) {
	if err == unix.ENOENT || err == unix.ESRCH { // or closed meanwhile
		return 0, Absent
	}
	_, rest, _ := bytes.Cut(text, []byte("flags:\t"))
	digits, _, found := bytes.Cut(rest, []byte("\n"))
	value, err := strconv.ParseUint(string(digits), 8, 32)
	if !found || err != nil {
		return 0, Hidden
	}
	return int(value), Found
}

func procDir(pid int) string { return "/proc/" + strconv.Itoa(pid) + "/" }

// otherThreads returns the threads of a process but the first. If that has ended it has no descriptors any more, but the
// others have: /proc has a directory for each thread, which it does not list.
func otherThreads(pid int) (threads []int) {
	task := procDir(pid) + "task"
	var stat unix.Stat_t
	if unix.Stat(task, &stat) != nil || stat.Nlink <= 3 { // two, and one for each thread
		return nil
	}
	threads, _ = proc.Numbers(task)
	return slices.DeleteFunc(threads, func(thread int) bool { return thread == pid })
}

// isVisible reports whether this user may see the descriptors of a process, or there is none. With the mount option hidepid
// /proc does not show other users' processes at all.
func isVisible(pid int) bool {
	fd, err := unix.Open(procDir(pid)+"fdinfo", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
		return true
	}
	return unix.Kill(pid, 0) == unix.ESRCH
}
