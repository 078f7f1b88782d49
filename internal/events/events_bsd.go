//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package events

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Supported reports whether this system has events.
const Supported = true

// A Watcher is the set of things to wait for. It is not for concurrent use. Close it when done.
type Watcher struct {
	queue     int // a descriptor, 0 if there is none
	dir       *os.File
	processes []int
}

// Directory makes Wait end when the open directory changes. It replaces the directory of an earlier call. It reports
// whether the directory is new: no event reports changes that were made before.
func (w *Watcher) Directory(dir *os.File) (added bool, err error) {
	if w.dir == dir {
		return false, nil
	}
	w.NoDirectory()
	err = w.change(int(dir.Fd()), unix.EVFILT_VNODE, unix.EV_ADD|unix.EV_CLEAR,
		unix.NOTE_WRITE|unix.NOTE_DELETE|unix.NOTE_RENAME|unix.NOTE_REVOKE)
	if err != nil {
		return false, err
	}
	w.dir = dir
	return true, nil
}

// NoDirectory ends the watching of the directory.
func (w *Watcher) NoDirectory() {
	if w.dir != nil {
		w.change(int(w.dir.Fd()), unix.EVFILT_VNODE, unix.EV_DELETE, 0)
		w.dir = nil
	}
}

// Processes makes Wait end when one of these processes ends. It replaces the processes of an earlier call. It reports
// whether any of them is new: the caller must then check that the id still is that of the process it means. An error says
// that at least one of them cannot be watched. A process that does not exist is new and is not an error.
func (w *Watcher) Processes(pids []int) (added bool, err error) {
	var kept []int
	for _, pid := range w.processes {
		if slices.Contains(pids, pid) {
			kept = append(kept, pid)
		} else {
			w.change(pid, unix.EVFILT_PROC, unix.EV_DELETE, 0)
		}
	}
	for _, pid := range pids {
		if slices.Contains(kept, pid) {
			continue
		}
		switch e := w.change(pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT, unix.NOTE_EXIT); e {
		case nil:
			kept, added = append(kept, pid), true
		case unix.ESRCH:
			added = true
		default:
			err = e
		}
	}
	w.processes = kept
	return added, err
}

func (w *Watcher) change(ident, filter, flags int, what uint32) error {
	if w.queue == 0 {
		queue, err := unix.Kqueue()
		if err != nil {
			return err
		}
		unix.CloseOnExec(queue)
		w.queue = queue
	}
	var k unix.Kevent_t
	unix.SetKevent(&k, ident, filter, flags)
	k.Fflags = what
	for {
		if _, err := unix.Kevent(w.queue, []unix.Kevent_t{k}, nil, nil); err != unix.EINTR {
			return err
		}
	}
}

// Pipe does nothing here. Only Linux has it.
func (w *Watcher) Pipe(int) {}

// Bell does nothing here. Only Linux has it.
func (w *Watcher) Bell(int) {}

// Close ends all watching. The Watcher may be used again.
func (w *Watcher) Close() {
	if w.queue != 0 {
		unix.Close(w.queue)
	}
	*w = Watcher{}
}

// Wait waits until an event happens, a check of look fails, or the time is over.
func (w *Watcher) Wait(d time.Duration, look Look) Event {
	return waitAndLook(d, look, w.wait)
}

func (w *Watcher) wait(d time.Duration) Event {
	if w.queue == 0 {
		time.Sleep(d)
		return Timeout
	}
	var happened [8]unix.Kevent_t
	timeout := unix.NsecToTimespec(int64(d))
	n, _ := unix.Kevent(w.queue, nil, happened[:], &timeout)
	event := Timeout
	for _, k := range happened[:max(n, 0)] {
		switch k.Filter {
		case unix.EVFILT_VNODE:
			if k.Fflags&(unix.NOTE_DELETE|unix.NOTE_RENAME|unix.NOTE_REVOKE) != 0 {
				w.NoDirectory()
			}
			event = max(event, Changed)
		case unix.EVFILT_PROC:
			w.processes = slices.DeleteFunc(w.processes, func(pid int) bool { return pid == int(k.Ident) })
			event = Ended
		}
	}
	return event
}
