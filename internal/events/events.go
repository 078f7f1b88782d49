// Package events waits until a directory changes, a process ends, a file is closed, or a time is over.
//
// It starts no goroutine and no thread, installs no signal handler and uses no timer of the Go runtime: a wait is a
// blocked system call. Where a system has no such events, or the process has no descriptors left, the methods of Watcher
// return an error, and Wait still checks at intervals.
//
//	system       directory                  process            file closed    bell
//	Linux        inotify(7)                 pidfd_open(2)      inotify(7)     poll(2)
//	macOS, BSD   kqueue(2), EVFILT_VNODE    EVFILT_PROC        none           none
//	Windows      change notification        process handle     none           none
//	others       none                       none               none           none
//
// Every family of systems defines watches, its part of a Watcher, with these methods:
//
//	directory(d), noDirectory()   Directory makes Wait end when a directory changes
//	add(pid), remove(process)     of the processes to be watched; add answers errGone for one that does not exist
//	closeOf(fd), bell(fd)         CloseOf and Bell
//	wait(d, check, processes)     Wait
//	close()
//
// the field dir, the directory that is watched, which noDirectory clears; and maxProcesses, the number of processes that can
// be watched, 0 if there are no events.
package events

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"
)

// An Event is what ended a Wait.
type Event uint8

const (
	// Timeout: the time is over, or a signal came.
	Timeout Event = iota
	// Closed: the last descriptor of an open file of the watched file was closed. Nothing of what follows has happened.
	Closed
	// Ended: a process has ended, and the directory has not changed. The process is not watched any more.
	Ended
	// Changed: a name in the directory, or the directory itself, was renamed or removed; on some systems also if a name
	// was created. Or somebody wrote to the bell.
	Changed
	// Seen: a check found something that is not as expected.
	Seen
)

// Supported reports whether this system has events.
const Supported = maxProcesses > 0

// A Directory is an open directory, by its descriptor on Unix, by its name elsewhere.
type Directory struct {
	FD   int
	Name string
}

// A Check is what Wait checks at intervals, for changes that cause no event.
type Check struct {
	// Every is the longest time between two checks, of which one is at the end of a Wait; 0: never check.
	Every time.Duration
	// Names should exist in Directory. Each check opens that again, which makes a network filesystem ask its server.
	Directory Directory
	Names     []string
	// Running is a process that should not be stopped (SIGSTOP), or 0. Only Linux tells.
	Running int
}

// MaxNames is how many names are checked; the others are ignored.
const MaxNames = 8

// interval returns Every, shortened at random, so that waiters that start together do not check at the same moment.
func (c Check) interval() time.Duration { return c.Every*3/4 + rand.N(c.Every/4+1) }

// A Watcher is the set of things to wait for. It is not for concurrent use. Close it when done.
type Watcher struct {
	watches
	processes []process
}

// errGone is the answer of add for a process that does not exist.
var errGone = errors.New("events: there is no such process")

// Processes makes Wait end when one of these processes ends. It replaces the processes of an earlier call. It reports
// whether any of them is new: the caller must then check that the id still is that of the process it means. An error says
// that at least one of them cannot be watched. A process that does not exist is new and is not an error.
func (w *Watcher) Processes(pids []int) (added bool, err error) {
	w.processes = slices.DeleteFunc(w.processes, func(p process) bool {
		keep := slices.Contains(pids, p.pid)
		if !keep {
			w.remove(p)
		}
		return !keep
	})
	for _, pid := range pids {
		if slices.ContainsFunc(w.processes, func(p process) bool { return p.pid == pid }) {
			continue
		}
		p, e := process{}, errors.ErrUnsupported
		if len(w.processes) < maxProcesses {
			p, e = w.add(pid)
		}
		switch e {
		case nil:
			w.processes, added = append(w.processes, p), true
		case errGone:
			added = true
		default:
			err = e
		}
	}
	return added, err
}

// Directory makes Wait end when an open directory changes. It replaces the directory of an earlier call. It reports
// whether the directory is new: no event reports changes that were made before.
//
// On Linux, ending the watch of a directory or a file takes the kernel about 15 ms, in Close or at the end of the process.
func (w *Watcher) Directory(d Directory) (added bool, err error) {
	if w.dir == d {
		return false, nil
	}
	w.noDirectory()
	if err := w.directory(d); err != nil {
		return false, err
	}
	w.dir = d
	return true, nil
}

// NoDirectory ends the watching of the directory.
func (w *Watcher) NoDirectory() { w.noDirectory() }

// CloseOf makes Wait end when the last descriptor of an open file of the file that is our descriptor fd is closed. It
// reports whether that is new.
func (w *Watcher) CloseOf(fd int) (added bool, err error) { return w.closeOf(fd) }

// Bell makes Wait end when somebody writes to a pipe. fd is the reading end, and Wait reads what was written. It replaces
// the bell of an earlier call. The caller closes the descriptor; 0 means none.
func (w *Watcher) Bell(fd int) { w.bell(fd) }

// Close ends all watching. The Watcher may be used again.
func (w *Watcher) Close() {
	w.Processes(nil)
	w.close()
}

// Wait waits until an event happens, a check fails, or the time is over.
func (w *Watcher) Wait(d time.Duration, check Check) Event {
	if d <= 0 {
		return Timeout
	}
	event, ended := w.wait(d, check, w.processes)
	w.processes = slices.DeleteFunc(w.processes, func(p process) bool {
		gone := slices.Contains(ended, p.pid)
		if gone {
			w.remove(p)
		}
		return gone
	})
	return event
}
