package fallback

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

// A search looks for marked open files of a file in all processes.
type search struct {
	view
	device uint64
	wanted []*openFile
	known  []place // what stands there is not wanted: our open file, and others that have a record
	since  uint64  // processes that were started then or later may move their descriptors
}

func (s *thisSystem) Search(wanted, known []*openFile, since uint64) view {
	h := search{view: view{certain: true}, device: s.identity().device, wanted: wanted, since: since}
	if s.fd >= 0 {
		h.known = append(h.known, place{pid: pid, number: s.fd})
	}
	for _, f := range known {
		h.known = append(h.known, f.place)
	}
	h.complete = s.knowsFile() && h.everywhere()
	return h.view
}

// maxCatchUps is how many times a search looks at the processes that were started meanwhile, before it gives up.
const maxCatchUps = 1000

// everywhere looks into all processes, and then into those that were started meanwhile, until there is no new one. It stops at the
// first open file that it finds. It reports whether it came to an end.
//
// Each look is at a process or, after the listing, at a process id that was given out, in that order. So whoever has the open file
// is seen: if its process did not show itself yet when its turn came, its parent was still at its fork, and had the open file; and
// if the parent has ended, the child has an id that is looked at later.
func (h *search) everywhere() (complete bool) {
	seen, last := map[int]bool{}, 0
	for range maxCatchUps {
		now := lastID()
		if now < last { // ids have come round
			seen, last = map[int]bool{}, 0
		}
		pids, err := idsSince(last, now)
		if err != nil {
			return false
		}
		isNew := false
		for _, pid := range pids {
			if seen[pid] {
				continue
			}
			isNew, seen[pid] = true, true
			if h.lookInto(pid) {
				return true
			}
		}
		if !isNew {
			return true
		}
		last = now
	}
	return false
}

// idsSince returns the ids of processes that may have been started after the id last was given out: all processes, if nothing
// tells which was the last (gVisor).
func idsSince(last, now int) (ids []int, err error) {
	if last == 0 {
		return proc.Processes()
	}
	for id := last + 1; id <= now; id++ {
		ids = append(ids, id)
	}
	return ids, nil
}

// enoughLooks is how many empty looks into a process that is never seen asleep prove that it does not have the open file. Beside a
// shell that moves its descriptor without a pause 15 to 68 of 100 looks miss it.
const enoughLooks = 64

// lookInto looks for an open file that is wanted in a process, and reports whether it has found one.
//
// A process can hide from an empty look: a shell that runs a function with 9>&- has the open file under another number meanwhile,
// and can move it between our listing and our look at each number. A process that has slept through the look has not. It may have
// inherited the open file only if it was started after the one that has locked.
func (h *search) lookInto(pid int) bool {
	if !h.mayMove(pid) {
		return h.lookOnce(pid)
	}
	for range enoughLooks {
		before := restOf(pid)
		if h.lookOnce(pid) {
			return true
		}
		if _, err := readStat(pid); err != nil {
			return false // it has ended
		}
		if before != nil && slices.Equal(before, restOf(pid)) {
			return false
		}
		sys.Sleep(rand.N(500 * time.Microsecond))
	}
	return false
}

// mayMove reports whether a process may have inherited the open file, so that it can move it.
func (h *search) mayMove(other int) bool {
	s, err := readStat(other)
	return err == nil && other != pid && s.start >= h.since && !s.isKernelThread && s.state != 'Z'
}

// lookOnce looks at each descriptor of a process once. Where the first thread has ended, another one shows them.
func (h *search) lookOnce(pid int) bool {
	fd, numbers, err := descriptorsOf(pid)
	if err == nil && len(numbers) == 0 {
		if tasks, _ := proc.Numbers(procDir(pid) + "/task"); len(tasks) > 1 {
			unix.Close(fd)
			pid = tasks[len(tasks)-1]
			fd, numbers, err = descriptorsOf(pid)
		}
	}
	if err != nil {
		if sys.LacksPermission(err) && !slices.Contains(h.refused, pid) {
			h.refused = append(h.refused, pid)
		}
		return false
	}
	defer unix.Close(fd)
	for _, number := range numbers {
		id, _, err := statID(fd, number)
		if err != nil || id.device != h.device {
			continue
		}
		at := place{pid: pid}
		at.number, _ = strconv.Atoi(number)
		if isMarked(at, id, h.device, h.wanted...) && !h.isKnown(at) {
			of, _ := readStat(pid)
			at.start = of.start
			h.found, h.at = true, at
			return true
		}
	}
	return false
}

// descriptorsOf opens the directory of the descriptors of a process, and lists it.
func descriptorsOf(pid int) (fd int, numbers []string, err error) {
	fd, err = unix.Open(procDir(pid)+"/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, nil, err
	}
	if numbers, err = sys.Names(fd); err != nil {
		unix.Close(fd)
	}
	return fd, numbers, err
}

// isKnown reports whether a descriptor is one of the known open files.
func (h *search) isKnown(at place) bool {
	for _, other := range h.known {
		if at.pid == other.pid && at.number == other.number {
			return true
		}
		same, certain := sameOpenFile(at, other)
		if same {
			return true
		}
		h.certain = h.certain && certain
	}
	return false
}

// lastID returns the id that was given out last to a process or a thread, 0 if nothing tells. LXC puts a file of its own over
// /proc/loadavg (lxcfs), whose ids are those of the host: that does not tell.
func lastID() int {
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

// Openers looks into all processes. Who waits for a lifeline has it open for writing only.
func (s *thisSystem) Openers(records []record) map[string][]int {
	device := s.identity().device
	ids := make([]fileID, len(records))
	for i, r := range records {
		if r.file != nil {
			ids[i] = fileID{device, r.file.inode}
		} else {
			ids[i], _, _ = statID(s.dirfd, r.name)
		}
	}
	openers := map[string][]int{}
	pids, _ := proc.Processes()
	for _, other := range pids {
		if other == pid {
			continue
		}
		fd, numbers, err := descriptorsOf(other)
		if err != nil {
			continue
		}
		for _, number := range numbers {
			id, _, err := statID(fd, number)
			at := place{pid: other}
			at.number, _ = strconv.Atoi(number)
			for i, r := range records {
				if err == nil && id == ids[i] && s.has(at, r) && !slices.Contains(openers[r.name], other) {
					openers[r.name] = append(openers[r.name], other)
				}
			}
		}
		unix.Close(fd)
	}
	return openers
}

// has reports whether a descriptor of the right file is that of a record.
func (s *thisSystem) has(at place, r record) bool {
	flags, err := flagsOf(at)
	if err != nil || r.file == nil {
		return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
	}
	if flags&r.file.mark.flag() == 0 {
		return false
	}
	if !s.here.pids.is(r.owner.pids) {
		return true // its process id means another process here, which cannot be compared
	}
	same, _ := sameOpenFile(at, r.file.place)
	return same || at.pid == r.file.pid && at.number == r.file.number
}
