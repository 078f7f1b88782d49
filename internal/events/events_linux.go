package events

import (
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const maxProcesses = 32

// A process is one that is watched. The pidfd stays with its process; another process could get the number.
type process struct{ pid, fd int }

type watches struct {
	inotify int // a descriptor, 0 if there is none
	dir     Directory
	dirID   int   // of the watch of the directory
	closed  bool  // whether the closing of a file is watched
	pending Event // what happened that Wait has not returned yet
	ring    int   // the descriptor of the bell, 0 if there is none
}

func (w *watches) directory(d Directory) (err error) {
	const changes = unix.IN_MOVED_TO | unix.IN_DELETE | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR
	w.dirID, err = w.watch(d.FD, changes)
	return err
}

func (w *watches) noDirectory() {
	if w.dir != (Directory{}) {
		unix.InotifyRmWatch(w.inotify, uint32(w.dirID))
		w.dir = Directory{}
		w.pending = max(w.pending, w.drain()) // among them one that says that the watch has ended
	}
}

func (w *watches) closeOf(fd int) (added bool, err error) {
	if w.closed {
		return false, nil
	}
	_, err = w.watch(fd, unix.IN_CLOSE)
	w.closed = err == nil
	return w.closed, err
}

// watch watches what is open as a descriptor, even if its name now leads to something else.
func (w *watches) watch(fd int, changes uint32) (id int, err error) {
	if w.inotify == 0 {
		inotify, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
		if err != nil {
			return 0, err
		}
		w.inotify = inotify
	}
	return unix.InotifyAddWatch(w.inotify, "/proc/self/fd/"+strconv.Itoa(fd), changes)
}

func (*watches) add(pid int) (process, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		err = errGone
	}
	return process{pid, fd}, err
}

func (*watches) remove(p process) { unix.Close(p.fd) }

func (w *watches) bell(fd int) { w.ring = fd }

func (w *watches) close() {
	if w.inotify != 0 {
		unix.Close(w.inotify)
	}
	*w = watches{}
}

func (w *watches) wait(d time.Duration, check Check, processes []process) (event Event, ended []int) {
	if w.pending != Timeout {
		event, w.pending = w.pending, Timeout
		return event, nil
	}
	q := new(quietWait)
	for _, p := range processes {
		q.add(p.fd)
	}
	for _, fd := range []int{w.ring, w.inotify} {
		if fd != 0 {
			q.add(fd)
		}
	}
	q.prepare(d, check)
	q.wait()
	if q.seen {
		return Seen, nil
	}
	for i, p := range q.fds[:q.count] {
		switch {
		case p.Revents == 0:
		case i < len(processes):
			event, ended = max(event, Ended), append(ended, processes[i].pid)
		case int(p.Fd) == w.ring:
			unix.Read(w.ring, make([]byte, 64))
			event = max(event, Changed)
		default:
			event = max(event, w.drain())
		}
	}
	return event, ended
}

// drain reads events, and returns the most important; if there are more, the next Wait ends at once. The watch of a
// directory that was removed or renamed ends.
func (w *watches) drain() (happened Event) {
	var b [4096]byte
	n, _ := unix.Read(w.inotify, b[:])
	for events := b[:max(n, 0)]; len(events) >= unix.SizeofInotifyEvent; {
		event := toEvent(events)
		const last = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_UNMOUNT // see inotify(7)
		if event.Mask&last != 0 && int(event.Wd) == w.dirID && w.dir != (Directory{}) {
			defer w.noDirectory()
		}
		switch {
		case event.Mask&unix.IN_CLOSE != 0:
			happened = max(happened, Closed)
		case event.Mask&unix.IN_IGNORED == 0:
			happened = Changed
		}
		events = events[min(len(events), unix.SizeofInotifyEvent+int(event.Len)):]
	}
	return happened
}
