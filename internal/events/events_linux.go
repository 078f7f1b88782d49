package events

import (
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Supported reports whether this system has events.
const Supported = true

// A Watcher is the set of things to wait for. It is not for concurrent use. Close it when done.
type Watcher struct {
	inotify   int // a descriptor, 0 if there is none
	dir       *os.File
	processes []process
	pipe      int // a descriptor, 0 if there is none
	bell      int // a descriptor, 0 if there is none
}

// A process is one that is watched. The pidfd stays with its process; another process could get the number.
type process struct{ pid, fd int }

// Directory makes Wait end when the open directory changes. It replaces the directory of an earlier call. It reports
// whether the directory is new: no event reports changes that were made before.
//
// Ending the watch, with Close or by the end of the process, takes the kernel about 15 ms.
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
	name := "/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) // the open directory, even if its name now leads to another one
	if _, err = unix.InotifyAddWatch(fd, name, changes); err != nil {
		unix.Close(fd)
		return false, err
	}
	w.inotify, w.dir = fd, dir
	return true, nil
}

// NoDirectory ends the watching of the directory.
func (w *Watcher) NoDirectory() {
	if w.inotify != 0 {
		unix.Close(w.inotify)
	}
	w.inotify, w.dir = 0, nil
}

// Processes makes Wait end when one of these processes ends. It replaces the processes of an earlier call. It reports
// whether any of them is new: the caller must then check that the id still is that of the process it means. An error says
// that at least one of them cannot be watched. A process that does not exist is new and is not an error.
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

// Pipe makes Wait end when nobody has a pipe open for reading any more. fd is the writing end. It replaces the pipe of an
// earlier call. The Watcher closes the descriptor; 0 means none.
func (w *Watcher) Pipe(fd int) {
	if w.pipe != 0 {
		unix.Close(w.pipe)
	}
	w.pipe = fd
}

// Bell makes Wait end when somebody writes to a pipe. fd is the reading end, and Wait reads what was written. It replaces
// the bell of an earlier call. The caller closes the descriptor; 0 means none.
func (w *Watcher) Bell(fd int) { w.bell = fd }

// Close ends all watching. The Watcher may be used again.
func (w *Watcher) Close() {
	w.NoDirectory()
	w.Processes(nil)
	w.Pipe(0)
	w.Bell(0)
}

// Wait waits until an event happens, a check of look fails, or the time is over.
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
	q.prepare(d, look)
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

// drop removes a process that has ended.
func (w *Watcher) drop(fd int) {
	for i, p := range w.processes {
		if p.fd == fd {
			unix.Close(fd)
			w.processes = slices.Delete(w.processes, i, i+1)
			return
		}
	}
}

// drain reads events; if there are more, the next Wait ends at once. It ends the watching if the directory was removed or
// renamed.
func (w *Watcher) drain() {
	var b [4096]byte
	if n, _ := unix.Read(w.inotify, b[:]); n > 0 && ended(b[:n]) {
		w.NoDirectory()
	}
}

// ended reports whether one of the events is the last one of its watch, see inotify(7).
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
