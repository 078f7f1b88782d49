package events

import (
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Supported says whether there are events on this system.
const Supported = true

// A Watcher knows what to wait for. It is not for concurrent use. Close it when done.
type Watcher struct {
	inotify   int // a descriptor, 0 if there is none
	dir       *os.File
	processes []process
	pipe      int // a descriptor, 0 if there is none
	bell      int // a descriptor, 0 if there is none
}

// A process that is watched. A pidfd stays with its process: the number may be another one's by now.
type process struct{ pid, fd int }

// Directory has Wait end when the open directory changes. It replaces another one. It reports whether that is new: what
// has happened before is not told.
//
// To end this watching, as by Close or the end of the process, takes the kernel some 15 ms.
func (w *Watcher) Directory(dir *os.File) (added bool, err error) {
	if w.inotify != 0 && w.dir == dir {
		return false, nil
	}
	w.NoDirectory()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return false, err
	}
	const changes = unix.IN_MOVED_TO | unix.IN_DELETE | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR
	name := "/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) // what is open, whatever its name leads to now
	if _, err = unix.InotifyAddWatch(fd, name, changes); err != nil {
		unix.Close(fd)
		return false, err
	}
	w.inotify, w.dir = fd, dir
	return true, nil
}

// NoDirectory undoes Directory.
func (w *Watcher) NoDirectory() {
	if w.inotify != 0 {
		unix.Close(w.inotify)
	}
	w.inotify, w.dir = 0, nil
}

// Processes has Wait end when one of these processes ends, and of no others. It reports whether any of them is new:
// whether it is the one that was meant is to be looked at now. The error says that at least one is not watched; for one
// that does not exist that is no error, but new.
func (w *Watcher) Processes(pids []int) (added bool, err error) {
	kept := w.processes[:0]
	for _, p := range w.processes {
		if slices.Contains(pids, p.pid) {
			kept = append(kept, p)
		} else {
			unix.Close(p.fd)
		}
	}
	w.processes = kept
	for _, pid := range pids {
		if w.watches(pid) {
			continue
		}
		fd, e := unix.PidfdOpen(pid, 0)
		switch {
		case e == unix.ESRCH:
			added = true
		case e != nil:
			err = e
		case len(w.processes) == maxProcesses:
			unix.Close(fd)
			err = unix.EMFILE
		default:
			w.processes = append(w.processes, process{pid, fd})
			added = true
		}
	}
	return added, err
}

func (w *Watcher) watches(pid int) bool {
	return slices.ContainsFunc(w.processes, func(p process) bool { return p.pid == pid })
}

// Pipe has Wait end when nobody has the pipe, whose writing end fd is, open for reading any more. It replaces another
// one. The descriptor becomes the Watcher's; 0 stands for none.
func (w *Watcher) Pipe(fd int) {
	if w.pipe != 0 {
		unix.Close(w.pipe)
	}
	w.pipe = fd
}

// Bell has Wait end when somebody writes to the pipe whose reading end fd is, and reads it empty. It replaces another
// one. The descriptor stays the caller's; 0 stands for none.
func (w *Watcher) Bell(fd int) { w.bell = fd }

// Close ends all watching. The Watcher may be used again.
func (w *Watcher) Close() {
	w.NoDirectory()
	w.Processes(nil)
	w.Pipe(0)
	w.Bell(0)
}

// Wait waits until something happens that is watched, the look sees something, or the time is over.
func (w *Watcher) Wait(d time.Duration, look Look) Event {
	if d <= 0 {
		return Timeout
	}
	q := new(quietWait)
	add := func(fd int, events int16) {
		q.fds[q.count] = unix.PollFd{Fd: int32(fd), Events: events}
		q.count++
	}
	for _, p := range w.processes {
		add(p.fd, unix.POLLIN)
	}
	if w.pipe != 0 {
		add(w.pipe, 0) // POLLERR always counts
	}
	if w.bell != 0 {
		add(w.bell, unix.POLLIN)
	}
	if w.inotify != 0 {
		add(w.inotify, unix.POLLIN)
	}
	q.expect(d, look)
	q.wait()
	if q.seen {
		return Seen
	}
	event := Timeout
	for _, p := range q.fds[:q.count] {
		switch {
		case p.Revents == 0:
		case int(p.Fd) == w.inotify:
			w.drain()
			event = max(event, Changed)
		case int(p.Fd) == w.bell:
			unix.Read(w.bell, make([]byte, 64))
			event = max(event, Changed)
		case int(p.Fd) == w.pipe:
			w.Pipe(0)
			event = max(event, Closed)
		default:
			w.drop(int(p.Fd))
			event = max(event, Ended)
		}
	}
	return event
}

// drop forgets a process that has ended.
func (w *Watcher) drop(fd int) {
	for i, p := range w.processes {
		if p.fd == fd {
			unix.Close(fd)
			w.processes = slices.Delete(w.processes, i, i+1)
			return
		}
	}
}

// drain reads events; the next Wait ends at once if there are more. When the directory is not there any more neither is
// its watch.
func (w *Watcher) drain() {
	var b [4096]byte
	if n, _ := unix.Read(w.inotify, b[:]); n > 0 && ended(b[:n]) {
		w.NoDirectory()
	}
}

// ended reports whether one of the events, see inotify(7), is the last one of a watch.
func ended(b []byte) bool {
	for len(b) >= unix.SizeofInotifyEvent {
		event := toEvent(b)
		if event.Mask&(unix.IN_IGNORED|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_UNMOUNT) != 0 {
			return true
		}
		b = b[min(len(b), unix.SizeofInotifyEvent+int(event.Len)):]
	}
	return false
}
