package fallback

import (
	"strconv"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/proc"
)

// A hunt looks for marked open files of a file in all processes.
type hunt struct {
	device    uint64
	wanted    []*openFile
	known     []place // what stands there is not wanted: our open file, and others that have a record
	at        place
	uncertain bool // without kcmp(2), one that is known cannot be told from another
}

func (s thisSystem) Search(wanted, known []*openFile) (place, answer) {
	h := hunt{device: s.identity().device, wanted: wanted}
	if s.fd >= 0 {
		h.known = append(h.known, place{pid, s.fd})
	}
	for _, f := range known {
		h.known = append(h.known, f.place)
	}
	found, complete := h.everywhere()
	switch {
	case found && !h.uncertain:
		return h.at, alive
	case found, !complete:
		return place{}, unknown
	}
	return place{}, gone
}

// maxCatchUps is how many times a search looks at the processes that were started meanwhile, before it gives up.
const maxCatchUps = 1000

// everywhere looks into all processes, and into those that are started meanwhile until there is no new one: they may have
// inherited from one that has been looked at before it had the open file. It does so twice, and stops at the first that is found.
func (h *hunt) everywhere() (found, complete bool) {
	for range 2 {
		seen, last := map[int]bool{}, 0
		for n := 0; ; n++ {
			pids, now, err := startedSince(last)
			if err != nil || n == maxCatchUps {
				return false, false
			}
			isNew := false
			for _, pid := range pids {
				if !seen[pid] && h.in(pid) {
					return true, true
				}
				isNew, seen[pid] = isNew || !seen[pid], true
			}
			if last = now; !isNew {
				break
			}
		}
	}
	return false, true
}

// startedSince returns the processes that may have been started after the id last was given out, all of them if nothing tells
// (gVisor), or if ids have come round. now is the last id by then.
func startedSince(last int) (pids []int, now int, err error) {
	now, _ = proc.Last()
	if last == 0 || now < last {
		pids, err = proc.Processes()
		return pids, now, err
	}
	for id := last + 1; id <= now; id++ {
		pids = append(pids, id)
	}
	return pids, now, nil
}

// in looks into a process, at its descriptors in ascending order and then in descending order: a shell moves a descriptor up
// before it closes the old number, and down afterwards. Where the first thread has ended, another one shows them.
func (h *hunt) in(pid int) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	for _, down := range []bool{false, true} {
		numbers, err := proc.Numbers(dir + "/fd")
		if err == nil && len(numbers) == 0 {
			if tasks, _ := proc.Numbers(dir + "/task"); len(tasks) > 1 {
				pid = tasks[len(tasks)-1]
				numbers, _ = proc.Numbers("/proc/" + strconv.Itoa(pid) + "/fd")
			}
		}
		for i := range numbers {
			if down {
				i = len(numbers) - 1 - i
			}
			p := place{pid, numbers[i]}
			if is, _ := isMarked(p, h.device, h.wanted...); is && !h.isKnown(p) {
				h.at = p
				return true
			}
		}
	}
	return false
}

// isKnown reports whether a descriptor is one of the known open files.
func (h *hunt) isKnown(p place) bool {
	for _, other := range h.known {
		same, certain := sameOpenFile(p, other)
		if p == other || same {
			return true
		}
		h.uncertain = h.uncertain || !certain
	}
	return false
}

// Openers looks into all processes. Who waits for a lifeline has it open for writing only.
func (s thisSystem) Openers(records []record) map[string][]int {
	device := s.identity().device
	ids := make([]fileID, len(records))
	for i, r := range records {
		if r.file != nil {
			ids[i] = fileID{device, r.file.inode}
		} else {
			ids[i], _, _ = statID(s.path + "/" + r.name)
		}
	}
	openers := map[string][]int{}
	pids, _ := proc.Processes()
	for _, other := range pids {
		numbers, _ := proc.Numbers("/proc/" + strconv.Itoa(other) + "/fd")
		for _, number := range numbers {
			p := place{other, number}
			id, _, err := statID(descriptorPath(p))
			for i, r := range records {
				if err == nil && other != pid && id == ids[i] && has(p, r) {
					openers[r.name] = append(openers[r.name], other)
				}
			}
		}
	}
	return openers
}

// has reports whether a descriptor of the right file is that of a record.
func has(p place, r record) bool {
	flags, err := flagsOf(p)
	if err != nil || r.file == nil {
		return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
	}
	same, _ := sameOpenFile(p, r.file.place)
	return flags&r.file.mark.flag() != 0 && (p == r.file.place || same)
}
