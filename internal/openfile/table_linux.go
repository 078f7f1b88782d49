package openfile

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/sys"
)

// In returns the descriptors of process pid that are open files to be found, in ascending order, and whether this user
// may look into the process.
//
// A shell moves descriptors while a function runs, and a look that passes the old number and the new one at the wrong
// moments sees neither: on some machines four of five looks, if the shell does nothing else. So where nothing is found while
// the table changes, In looks again and again, and if it is to be careful, also where the process has run during the first
// look.
func (s Search) In(pid int, careful bool) (numbers []int, visible bool) {
	const most = 32
	tables := []*table{{thread: pid}}
	defer func() {
		for _, t := range tables {
			t.close()
		}
	}()
	before, runs := "", false
	if careful {
		before = Activity(pid)
	}
	for tries := 0; tries < most; tries++ {
		all, changed, isEnough := 0, false, false
		for _, t := range tables {
			found, n, moved, err := t.pass(s)
			switch {
			case err == unix.ENOENT || err == unix.ESRCH:
				return nil, isVisible(pid)
			case err != nil:
				return nil, false
			}
			switch {
			case len(found) == 0:
			case s.Accept == nil, s.OnlyStill && Moves(pid):
				isEnough = true
			default:
				for _, number := range found {
					isEnough = s.Accept(pid, number) || isEnough
				}
			}
			numbers, all, changed = append(numbers, found...), all+n, changed || moved
		}
		if all == 0 && len(tables) == 1 {
			for _, thread := range otherThreads(pid) {
				tables, changed = append(tables, &table{thread: thread}), true
			}
		}
		if isEnough {
			break
		}
		if careful && tries == 0 {
			runs = hasRun(pid, before)
		}
		if !changed && !runs {
			break
		}
		tries += all / 100 // a long table always changes
		if runs {
			spin(rand.N(40 * time.Microsecond)) // so as not to keep step with the process
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), true
}

// spin waits without giving up the processor, which would take much longer on a busy machine.
func spin(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

// A table is that of the descriptors of a thread, at which one looks again and again.
type table struct {
	thread int
	sights map[int]*sight // by number, from the second pass on
}

// A sight is what has been seen at a number. A descriptor that moves is seldom long enough at a number to be listed, and then
// to show its mark and its file. But these can be seen one after the other.
type sight struct {
	info             int // descriptor of its file in /proc/PID/fdinfo, 0 if that is not open; one call reads it anew
	isMarked, isFile bool
}

// pass looks through the table once. It returns the descriptors that are to be found, how many there are in all, and whether
// the table has changed meanwhile.
func (t *table) pass(s Search) (numbers []int, all int, changed bool, err error) {
	dir := procDir(t.thread)
	fd, err := unix.Open(dir+"fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, false, err
	}
	defer unix.Close(fd)
	names, err := sys.Names(fd)
	look := func(number int, v *sight) {
		isFound, isThere, e := t.look(s, fd, number, v)
		if isFound {
			numbers = append(numbers, number)
		}
		changed = changed || !isThere
		if e != nil {
			err = e
		}
	}
	for _, name := range names {
		number, _ := strconv.Atoi(name)
		if err != nil {
			break
		}
		if t.sights == nil {
			look(number, &sight{})
		} else if t.sights[number] == nil {
			t.sights[number] = &sight{}
		}
	}
	for number, v := range t.sights {
		if v.info == 0 && len(t.sights) <= 100 {
			info, _ := unix.Open(dir+"fdinfo/"+strconv.Itoa(number), unix.O_RDONLY|unix.O_CLOEXEC, 0)
			v.info = max(info, 0)
		}
		look(number, v)
	}
	if t.sights == nil {
		t.sights = map[int]*sight{}
	}
	return numbers, len(names), changed, err
}

// look looks at a number; dir is open on /proc/PID/fd. isThere is false where nothing was there, maybe for a moment.
func (t *table) look(s Search, dir, number int, v *sight) (isFound, isThere bool, err error) {
	if s.Ours != nil { // mostly one call tells
		order, errno := kcmp(t.thread, number, os.Getpid(), *s.Ours)
		if errno == 0 || errno == unix.EBADF {
			return errno == 0 && order == 0, errno == 0, nil
		}
	}
	flags, state := 0, Found
	if v.info != 0 {
		var text [512]byte
		n, err := unix.Pread(v.info, text[:], 0)
		flags, state = parseFlags(text[:max(n, 0)], err)
	} else {
		// Sockets, pipes and the like have no path. To read the link is faster than to read the flags.
		path, err := readLink(dir, number)
		switch {
		case err == unix.EACCES || err == unix.EPERM:
			return false, false, err
		case err == nil && (path[0] != '/' || path == "/dev/null"):
			return false, true, nil
		case s.Mark != None:
			flags, state = flagsShown(procDir(t.thread), number)
		}
	}
	v.isMarked = v.isMarked || state == Found && flags&s.Mark.flag() == s.Mark.flag()
	if v.isMarked && !v.isFile {
		v.isFile = s.compare(procDir(t.thread), number) == Found
		if !v.isFile {
			_, err := readLink(dir, number)
			return false, err == nil, nil
		}
	}
	return v.isFile, state != Absent, nil
}

// readLink reads the link of a number in /proc/PID/fd, as far as that matters.
func readLink(dir, number int) (path string, err error) {
	var link [64]byte
	n, err := unix.Readlinkat(dir, strconv.Itoa(number), link[:])
	return string(link[:max(n, 0)]), err
}

func (t *table) close() {
	for _, v := range t.sights {
		if v.info != 0 {
			unix.Close(v.info)
		}
	}
}
