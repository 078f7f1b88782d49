package fallback

import (
	"maps"
	"slices"

	"example.org/flock/internal/openfile"
)

const (
	// maxRounds is how often a scan follows the process ids that were given out meanwhile.
	maxRounds = 200
	// maxNew is how many of those it looks at in a round, and manyNew how many it surely looks at with care.
	maxNew  = 20000
	manyNew = 50
)

// A scan looks for open files in processes.
//
// A descriptor can be handed on from child to child while the scan passes: the child has an id that the scan has passed,
// and the parent ends. So the scan also looks into all processes that have been made meanwhile, until there is no new one;
// and it does all of that twice, the second time with care. Who has not run meanwhile need not be looked at again. A
// descriptor that is in flight in a socket is not found.
//
// On a busy machine, more processes are made in the time that careful looks at the last ones take, and there would always be
// new ones. Nearly all are children of processes that are known to be without the open files, and a child has only what its
// parent had. So then a look without care is enough for them. It cannot be left out, because who has adopted an orphan can
// look like its parent.
type scan struct {
	*call
	search openfile.Search
	// found takes the descriptors that were found in a process, and reports whether that is enough.
	found func(pid int, numbers []int) (done bool)
	// mayHave reports whether a process may have the open files; nil: every process may.
	mayHave func(pid int) bool

	round   int
	made    int          // how many ids were given out since the pass began
	without map[int]int  // by process, the round in which it was found to be without
	clean   map[int]bool // processes that were without from the beginning
}

func (c *call) newScan(search openfile.Search, found func(pid int, numbers []int) (done bool)) *scan {
	return &scan{call: c, search: search, found: found, without: map[int]int{}, clean: map[int]bool{}}
}

// everywhere looks into all processes, until found reports that it is done. certain is false if it may have missed one.
func (s *scan) everywhere() (done, certain bool) {
	still := map[int]string{} // those that were without in the first pass, and have not run since
	for _, careful := range []bool{false, true} {
		last, err := s.Last()
		if err != nil {
			return s.listed()
		}
		pids, err := s.Processes()
		if err != nil {
			return false, false
		}
		if careful {
			maps.DeleteFunc(still, func(pid int, _ string) bool { _, isWithout := s.without[pid]; return !isWithout })
			s.KeepStill(still)
		}
		s.round, s.made, s.without, s.clean = 0, 0, map[int]int{}, map[int]bool{}
		s.search.OnlyStill = !careful
		for _, pid := range pids {
			if !careful {
				still[pid] = s.Activity(pid)
			} else if _, isStill := still[pid]; isStill {
				s.without[pid] = s.round
				continue
			}
			if s.look(pid, careful) {
				return s.ended()
			}
		}
		s.search.OnlyStill = false
		if done, ok := s.after(last, 0, careful); done || !ok {
			return done, ok
		}
	}
	return false, true
}

// after looks into each process that was made after the one with the id last, until there is no new one or found reports
// that it is done. certain is false if too many were made. opener is the process that has made the open files, so that older
// ones are without, or 0.
func (s *scan) after(last, opener int, careful bool) (done, certain bool) {
	for range maxRounds {
		s.round++
		now, err := s.Last()
		if err != nil || now < last || now-last > maxNew { // or the ids have begun again
			return false, false
		}
		if now == last {
			return false, true
		}
		s.made += now - last
		for last < now {
			last++
			if s.IsProcess(last) && s.look(last, careful && (s.made <= manyNew || !s.isClean(last, opener))) {
				return s.ended()
			}
		}
	}
	return false, false
}

// look looks into a process, and reports whether the scan ends.
func (s *scan) look(pid int, careful bool) (done bool) {
	if s.isLate(doubtful) {
		return true
	}
	if s.mayHave != nil && !s.mayHave(pid) {
		return false
	}
	numbers, visible := s.In(s.search, pid, careful)
	if len(numbers) > 0 {
		return s.found(pid, numbers)
	}
	if visible {
		s.without[pid] = s.round
	}
	return false
}

// isClean reports whether a process of this round was without from the beginning: its parent was, or was without before
// the process was made, that is before the ids of this round were given out.
func (s *scan) isClean(pid, opener int) bool {
	parent := s.Maker(pid)
	round, seen := s.without[parent]
	isClean := parent > 1 && (s.clean[parent] || s.round > 1 && (parent < opener || seen && round < s.round-1))
	if isClean {
		s.clean[pid] = true
	}
	return isClean
}

// listed does the work of everywhere if nothing tells which id was given out last, as in gVisor. It lists the processes
// again until it has looked into all that are listed. Whoever has the open file when the last list is made was looked into
// before then, and had it: a process gets it only from the one that makes it. A list misses no open file that children hand
// on, because it is made in ascending order, and so the ids are given out.
func (s *scan) listed() (done, certain bool) {
	var seen []int
	for range maxRounds {
		pids, err := s.Processes()
		if err != nil {
			return false, false
		}
		before := seen
		seen = pids
		isNew := func(pid int) bool { return !slices.Contains(before, pid) }
		if !slices.ContainsFunc(pids, isNew) {
			return false, true
		}
		if slices.ContainsFunc(pids, func(pid int) bool { return isNew(pid) && s.look(pid, true) }) {
			return s.ended()
		}
	}
	return false, false
}

// ended is the result of a scan that look has ended: it is done, or there is no time left.
func (s *scan) ended() (done, certain bool) {
	isDone := !s.isLate(doubtful)
	return isDone, isDone
}
