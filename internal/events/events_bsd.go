//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package events

import (
	"time"

	"golang.org/x/sys/unix"
)

const maxProcesses = 32

type process struct{ pid int }

type watches struct {
	queue int // a descriptor, 0 if there is none
	dir   Directory
}

func (w *watches) directory(d Directory) error {
	return w.change(d.FD, unix.EVFILT_VNODE, unix.EV_ADD|unix.EV_CLEAR,
		unix.NOTE_WRITE|unix.NOTE_DELETE|unix.NOTE_RENAME|unix.NOTE_REVOKE)
}

func (w *watches) noDirectory() {
	if w.dir != (Directory{}) {
		w.change(w.dir.FD, unix.EVFILT_VNODE, unix.EV_DELETE, 0)
		w.dir = Directory{}
	}
}

func (w *watches) add(pid int) (process, error) {
	err := w.change(pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT, unix.NOTE_EXIT)
	if err == unix.ESRCH {
		err = errGone
	}
	return process{pid}, err
}

func (w *watches) remove(p process) { w.change(p.pid, unix.EVFILT_PROC, unix.EV_DELETE, 0) }

func (w *watches) change(ident, filter, flags int, what uint32) error {
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

func (w *watches) close() {
	if w.queue != 0 {
		unix.Close(w.queue)
	}
	*w = watches{}
}

func (w *watches) waitOnce(d time.Duration, _ []process) (event Event, ended []int) {
	if w.queue == 0 {
		time.Sleep(d)
		return Timeout, nil
	}
	var happened [8]unix.Kevent_t
	timeout := unix.NsecToTimespec(int64(d))
	n, _ := unix.Kevent(w.queue, nil, happened[:], &timeout)
	for _, k := range happened[:max(n, 0)] {
		switch k.Filter {
		case unix.EVFILT_VNODE:
			if k.Fflags&(unix.NOTE_DELETE|unix.NOTE_RENAME|unix.NOTE_REVOKE) != 0 {
				w.noDirectory()
			}
			event = max(event, Changed)
		case unix.EVFILT_PROC:
			event, ended = max(event, Ended), append(ended, int(k.Ident))
		}
	}
	return event, ended
}
