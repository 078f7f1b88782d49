package openfile

import (
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

// A search looks for marked open files of a file in all processes.
type search struct {
	Query
	View
	failed    bool       // a look has not been made, for want of memory, for instance
	locations []Location // what stands there is not wanted: our open file, and others that have a record
	// Processes that this search has looked into, or that may not be looked into.
	visited map[int]bool
	// A process is cleared when a look has shown all its descriptors, and none of them is wanted: who is started by it
	// then does not have the open file either, and is cleared, too. One that refuses the look is not looked for behind,
	// and counts as cleared. This is the clock tick from which on it is.
	clearedSince map[int]uint64
	lastID       int // what lastID has said before the last listing
}

func newSearch(q Query) *search {
	return &search{Query: q, View: View{Certain: true}, visited: map[int]bool{}, clearedSince: map[int]uint64{}}
}

func (h *search) working() {
	if h.Working != nil {
		h.Working()
	}
}

// Search looks into all processes for an open file that is wanted.
func (t *Table) Search(q Query) View {
	h := newSearch(q)
	if t.FD >= 0 {
		h.locations = append(h.locations, Location{PID: os.Getpid(), Number: t.FD})
	}
	for _, f := range q.Accounted {
		h.locations = append(h.locations, f.Location)
	}
	h.Complete = h.everywhere() && !h.failed
	return h.View
}

// MayTraceAll reports whether this process has CAP_SYS_PTRACE. In the initial namespaces it may look into all processes
// then.
var MayTraceAll = sync.OnceValue(func() bool {
	var header = unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_PTRACE) != 0
})

// longestCatchUp is how long a search looks at processes that were started since it began. If there are always some
// that are not known to be without the open file, such as those that process 1 has adopted, it gives up, and the lock
// counts as held: flock -n has to answer. It is long because a refusal is wrong then. A test replaces it.
var longestCatchUp = 10 * time.Second

// enoughListings is how many listings in a row prove something that have nobody new but children of cleared processes.
// One would do if all of them were. But an orphan shows as its parent the one that has adopted
// it: mostly process 1, which does not count, but any ancestor can adopt (PR_SET_CHILD_SUBREAPER). Such an orphan is
// looked into once, and would have to hand the open file on before that, and its heirs to do so each time. Beside heirs
// that live for a millisecond, at a load of 30, one of nine listings was of that kind. Beside up to twelve shells that
// start processes without a pause, to ask for sixteen in a row takes no longer than to ask for four.
const enoughListings = 16

// processes lists all processes, in ascending order. A test replaces it.
var processes = proc.Processes

// everywhere looks into all processes, and then into those that were started meanwhile, until a listing proves that
// there is nobody left who can have the open file. It stops at the first open file that it finds. It reports whether it
// came to an end.
//
// All who are there when it begins are looked into in the first round. After that, whoever has the open file inherits
// it during the search. A listing goes upwards, and an heir has a higher id than who has left him the file. So the
// listing meets somebody who has it, if anybody has: who ends, or closes it, before the listing has come to them has
// left it to somebody further up. If the listing has nobody new, nobody has it. Say that 100 has it at first:
//
//	listing  shows    new     the look into these
//	1        90, 100  both    90 is cleared; 100 has just ended, and left it to 150
//	2        90, 150  150     has just ended, and left it to 180
//	3        90, 180  180     has it: the search ends
//	or 3     90, 190  190     its parent 90 was cleared before 190 was started: see enoughListings
func (h *search) everywhere() (complete bool) {
	result := h.lookRound() // it has all the time that it takes
	catchUpEnds := time.Now().Add(longestCatchUp)
	for inARow := 0; ; result = h.lookRound() {
		switch result {
		case foundIt, nobodyNew:
			return true
		case notListed:
			return false
		case provesNothing:
			if inARow = 0; time.Now().After(catchUpEnds) {
				return false
			}
		case onlyHeirsOfCleared: // these are let come to an end, however slow the machine is
			if inARow++; inARow == enoughListings {
				return true
			}
		}
		if h.ShallStop != nil && h.ShallStop() {
			return false
		}
	}
}

// A round is what a look into all who are new in a listing has shown.
type round uint8

const (
	provesNothing round = iota
	notListed           // the listing has failed
	foundIt             // somebody has the open file
	nobodyNew
	onlyHeirsOfCleared // all who were new are children of cleared processes, as far as they show
)

// lookRound lists all processes, and looks into those that are new.
func (h *search) lookRound() round {
	before := lastID()
	if before < h.lastID { // ids have come round: they mean other processes
		h.visited, h.clearedSince = map[int]bool{}, map[int]uint64{}
	}
	h.lastID = before
	pids, err := processes()
	if err != nil {
		return notListed
	}
	candidates := h.candidates(pids)
	for _, p := range candidates {
		if h.lookInto(p) {
			return foundIt
		}
	}
	isStranger := func(p candidate) bool { return !p.isHeirOfCleared }
	switch {
	case lastID() < before: // ids have come round meanwhile, and an heir may have a lower one
		return provesNothing
	case len(candidates) == 0:
		return nobodyNew
	case slices.ContainsFunc(candidates, isStranger):
		return provesNothing
	}
	return onlyHeirsOfCleared
}

// A candidate is a process that a search has not visited yet.
type candidate struct {
	pid             int
	stat            proc.Stat
	err             error // of reading the stat, which is all zero then
	isHeirOfCleared bool
}

// candidates returns those of a listing that were not visited yet and have descriptors. It does nothing else, so that
// few of them end before their stat is read: of those nothing is known.
func (h *search) candidates(pids []int) (list []candidate) {
	for _, pid := range pids {
		if h.visited[pid] {
			continue
		}
		h.visited[pid] = true
		h.working()
		if p := h.newCandidate(pid); !p.stat.IsKernelThread {
			list = append(list, p)
		}
	}
	return list
}

func (h *search) newCandidate(pid int) candidate {
	p := candidate{pid: pid}
	p.stat, p.err = proc.ReadStat(pid)
	if p.err == nil && h.isHeirOfCleared(p.stat) {
		p.isHeirOfCleared = true
		h.clearedSince[pid] = p.stat.Start
	}
	return p
}

// isHeirOfCleared reports whether a process was started by one that was cleared by then, if the parent that it shows
// has started it: see enoughListings. Then one look is enough. So a search keeps up with a machine that starts
// processes all the time: to look at each of them again and again takes longer than they live.
func (h *search) isHeirOfCleared(s proc.Stat) bool {
	since, isCleared := h.clearedSince[s.Parent]
	return isCleared && s.Parent != 1 && s.Start >= since
}

// clear notes that a process is cleared from now on, unless it was already.
func (h *search) clear(pid int) {
	if _, isCleared := h.clearedSince[pid]; !isCleared {
		h.clearedSince[pid] = nextTick()
	}
}

// enoughLooks is how many empty looks into a process that is never seen asleep prove that it does not have the open
// file. Beside a shell that moves its descriptor without a pause up to two of three looks miss it: of 2,800 such
// searches one needed 21 looks, and none of 100,000 tries beside each of four shells got in.
const enoughLooks = 64

// looksBetween is how many looks there are between two that ask whether the process sleeps, which costs more than a
// look.
const looksBetween = 8

// lookInto looks for an open file that is wanted in a process, and reports whether it has found one.
func (h *search) lookInto(p candidate) bool {
	couldLook := false
	if h.mayMove(p) {
		couldLook = h.lookUntilProven(p.pid)
	} else {
		couldLook = h.lookOnce(p.pid)
	}
	if couldLook && !h.Found {
		h.clear(p.pid)
	}
	return h.Found
}

// lookUntilProven looks into a process until it finds an open file that is wanted, or it is proven that there is none.
//
// A process can hide from an empty look: a shell that runs a function with 9>&- has the open file under another number
// meanwhile, and can move it between our listing and our look at each number. A process that has slept through the look
// has not.
func (h *search) lookUntilProven(pid int) (couldLook bool) {
	for n := range enoughLooks {
		slept := false
		if n%looksBetween == 0 {
			couldLook, slept = h.lookForSleep(pid)
		} else {
			couldLook = h.lookOnce(pid)
		}
		if h.Found || !couldLook || slept {
			break
		}
	}
	return couldLook
}

// lookForSleep is lookOnce, and reports whether the process has slept through the look.
func (h *search) lookForSleep(pid int) (couldLook, slept bool) {
	before := restOf(pid)
	couldLook = h.lookOnce(pid)
	return couldLook, before != nil && slices.Equal(before, restOf(pid))
}

// nextTick returns the first tick to come on the clock of proc.Stat, the end of time if there is no such clock.
func nextTick() uint64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return math.MaxUint64
	}
	return uint64(now.Nano())/uint64(proc.Tick) + 1
}

// mayMove reports whether a process can have inherited the open file from who has locked, and hide it from a look by
// moving it. If its stat was not read, it may be any process.
func (h *search) mayMove(p candidate) bool {
	return p.err != nil || !p.isHeirOfCleared && p.stat.Start >= h.Since
}

// lookOnce looks at each descriptor of a process once, and notes the first one that is wanted. It reports whether the
// process has descriptors that can be looked at.
func (h *search) lookOnce(pid int) (couldLook bool) {
	h.working()
	fd, numbers, err := descriptorsOf(pid)
	defer unix.Close(fd)
	switch {
	case err == nil && len(numbers) > 0:
		return h.lookAt(pid, fd, numbers)
	case err == nil, sys.LacksPermission(err) && hasLostFirstThread(pid):
		return h.lookByOtherThreads(pid)
	}
	h.noteFailure(pid, err)
	return false
}

// lookByOtherThreads is lookOnce for a process that shows no descriptors by its first thread: one that has ended shows
// none, and that only to root. It comes to the first thread again at last: if another one has called execve(2), it is
// the first one by now.
func (h *search) lookByOtherThreads(pid int) (couldLook bool) {
	threads, err := proc.Numbers(procDir(pid) + "/task")
	if err != nil {
		h.noteFailure(pid, err)
		return false
	}
	threads = slices.DeleteFunc(threads, func(thread int) bool { return thread == pid })
	for _, thread := range append(threads, pid) {
		fd, numbers, err := descriptorsOf(thread)
		if err != nil {
			h.noteFailure(thread, err)
			continue
		}
		could := len(numbers) > 0 && h.lookAt(thread, fd, numbers)
		unix.Close(fd)
		if could {
			return true
		}
	}
	return false
}

// lookAt is lookOnce for these descriptors, whose directory is open as fd.
func (h *search) lookAt(pid, fd int, numbers []string) (couldLook bool) {
	for _, number := range numbers {
		h.working()
		at := Location{PID: pid}
		at.Number, _ = strconv.Atoi(number)
		isWanted, err := h.isWanted(fd, at)
		if err != nil && !isNowhere(err) {
			// Root may list the descriptors of all processes, and without CAP_SYS_PTRACE see none of them.
			h.noteFailure(pid, err)
			return false
		}
		if isWanted && !h.isAccountedFor(at) {
			of, _ := proc.ReadStat(pid)
			at.Start = of.Start
			h.Found, h.At = true, at
			return true
		}
	}
	return true
}

// isWanted reports whether a descriptor is an open file like one of those that are wanted. The directory of its
// process's descriptors is open as fd.
func (h *search) isWanted(fd int, at Location) (bool, error) {
	number := strconv.Itoa(at.Number)
	id, _, err := statID(fd, number)
	if sys.LacksPermission(err) && h.isElsewhere(fd, number) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return isMarked(at, id, h.Wanted...)
}

// isElsewhere reports whether a descriptor that may not be looked at is of another device than what is wanted. A
// filesystem of another user (FUSE) tells nobody else more than that, not even root.
func (h *search) isElsewhere(fd int, number string) bool {
	var s unix.Statx_t
	err := unix.Statx(fd, number, unix.AT_STATX_DONT_SYNC, 0, &s)
	device := unix.Mkdev(s.Dev_major, s.Dev_minor)
	return err == nil && !slices.ContainsFunc(h.Wanted, func(f *File) bool { return f.Device == device })
}

// noteFailure notes why a process could not be looked into, unless it has ended.
func (h *search) noteFailure(other int, err error) {
	switch {
	case isNowhere(err):
	case sys.LacksPermission(err): // it is passed over or counted as refused, and its children with it
		h.clear(other)
		h.noteRefusal(other)
	default:
		h.failed = true
	}
}

// noteRefusal notes that a process refuses the look. It can have the open file unless it is process 1, from which all
// others stem. It is asked at once who it is: if it has ended by now, its children are in a later listing.
func (h *search) noteRefusal(other int) {
	if !h.TellRefused || other == 1 {
		return
	}
	its, err := proc.ReadStat(other)
	of, err2 := readStatus(procDir(other))
	if isNowhere(err) || isNowhere(err2) || err == nil && isZombie(other) {
		return
	}
	p := Process{its.Start, of.users, of.groups, isProtected(other, of)}
	if err != nil || err2 != nil {
		p = Process{} // not even that is shown
	}
	h.Refused = append(h.Refused, p)
}

// descriptorsOf opens the directory of the descriptors of a process, and lists it. After an error fd is -1.
func descriptorsOf(pid int) (fd int, numbers []string, err error) {
	fd, err = unix.Open(procDir(pid)+"/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, nil, err
	}
	if numbers, err = sys.Names(fd); err != nil {
		unix.Close(fd)
		fd = -1
	}
	return fd, numbers, err
}

// isAccountedFor reports whether a descriptor is our open file, or one that has a record.
func (h *search) isAccountedFor(at Location) bool {
	for _, other := range h.locations {
		if at.PID == other.PID && at.Number == other.Number {
			return true
		}
		same, certain := sameOpenFile(at, other)
		if same {
			return true
		}
		h.Certain = h.Certain && certain
	}
	return false
}

// lastID returns the id that was given out last to a process or a thread, 0 if nothing tells. LXC puts a file of its
// own over /proc/loadavg (lxcfs), whose ids are those of the host: that does not tell. A test replaces it.
var lastID = func() int {
	var of unix.Statfs_t
	if err := unix.Statfs("/proc/loadavg", &of); err != nil || of.Type != unix.PROC_SUPER_MAGIC {
		return 0
	}
	text, _ := proc.ReadSmall("/proc/loadavg")
	fields := strings.Fields(string(text))
	if len(fields) < 5 {
		return 0
	}
	last, _ := strconv.Atoi(fields[4])
	return last
}

// Openers returns, for each of these, the processes other than this one that have it. It looks into all processes.
func Openers(files []Sought) (openers [][]int, told Telling) {
	openers, told = make([][]int, len(files)), TellsAll
	pids, _ := proc.Processes()
	if !slices.Contains(pids, 1) { // /proc is mounted with hidepid, or cannot be read
		told = TellsSome
	}
	for _, other := range pids {
		if other == os.Getpid() {
			continue
		}
		fd, numbers, err := descriptorsOf(other)
		if err != nil {
			told = told.after(other, err)
			continue
		}
		for _, number := range numbers {
			id, _, err := statID(fd, number)
			if err != nil {
				told = told.after(other, err)
				continue
			}
			at := Location{PID: other}
			at.Number, _ = strconv.Atoi(number)
			for i, f := range files {
				if id == f.FileID && has(at, i, files) && !slices.Contains(openers[i], other) {
					openers[i] = append(openers[i], other)
				}
			}
		}
		unix.Close(fd)
	}
	return openers, told
}

// after returns what is told after the error of a look into a process. Process 1, from which all others stem, has no
// lock.
func (t Telling) after(other int, err error) Telling {
	if sys.LacksPermission(err) && other != 1 {
		return TellsSome
	}
	return t
}

// A Sought is what Openers looks for: a lifeline, or an open file. No file is like the zero value.
type Sought struct {
	FileID
	file *File     // nil: a lifeline
	at   *Location // where the open file is; nil: it may be anywhere
}

// SoughtFIFO returns the lifeline with a name in an open directory.
func SoughtFIFO(dir int, name string) (s Sought) {
	s.FileID, _, _ = statID(dir, name)
	return s
}

// SoughtFile returns an open file. isSeen says that it was seen where it says.
func SoughtFile(f *File, isSeen bool) Sought {
	s := Sought{FileID: f.FileID, file: f}
	if isSeen {
		s.at = &f.Location
	}
	return s
}

// has reports whether a descriptor of the right file is that of files[i]. Of an open file that may be anywhere it is
// one that is no other's.
func has(at Location, i int, files []Sought) bool {
	flags, err := flagsOf(at)
	wanted := files[i]
	switch {
	case err != nil:
		return false
	case wanted.file == nil:
		return flags&unix.O_ACCMODE == unix.O_RDWR // a waiter that watches a lifeline has it open for writing only
	case flags&wanted.file.Mark.flag() == 0:
		return false
	case wanted.at != nil:
		return isAt(at, *wanted.at)
	}
	return !slices.ContainsFunc(files, func(f Sought) bool { return f.at != nil && isAt(at, *f.at) })
}

// isAt reports whether two descriptors are the same open file. Without kcmp(2) it must be the same descriptor.
func isAt(p, q Location) bool {
	same, _ := sameOpenFile(p, q)
	return same || p.PID == q.PID && p.Number == q.Number
}
