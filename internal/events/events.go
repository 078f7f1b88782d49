// Package events waits until a directory changes, a process ends, a pipe is closed, or a time is over.
//
// It starts no goroutine and no thread, installs no signal handler and uses no timer of the Go runtime: a wait is a
// blocked system call. Where a system has no such events, or the process has no descriptors left, the methods of Watcher
// return an error, and Wait still looks at names at intervals.
//
//	system       directory                  process            pipe
//	Linux        inotify(7)                 pidfd_open(2)      poll(2)
//	macOS, BSD   kqueue(2), EVFILT_VNODE    EVFILT_PROC        none
//	Windows      change notification        process handle     none
//	others       none                       none               none
package events

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// An Event is what ended a Wait.
type Event uint8

const (
	// Timeout: the time is over, or a signal came.
	Timeout Event = iota
	// Changed: a name in the directory, or the directory itself, was renamed or removed; on some systems also if a name
	// was created. Or somebody wrote to the bell.
	Changed
	// Ended: a process has ended. It is not watched any more.
	Ended
	// Closed: all readers of the pipe have closed it. It is not watched any more.
	Closed
	// Seen: a look found a name that is not as expected.
	Seen
)

// A Look is what Wait checks at intervals, for changes that cause no event.
type Look struct {
	// Every is the longest time between two checks; 0: never check.
	Every time.Duration
	// Directory contains the names. Each check opens it again, which makes a network filesystem ask its server.
	Directory *os.File
	// Stand are names that should exist. Absent is a name that should not exist, or "".
	Stand  []string
	Absent string
	// File is a name, as in /proc/PID/fd, that should lead to the same file as at the beginning of Wait, or "".
	File string
}

// MaxNames is how many names of Stand are checked; the others are ignored.
const MaxNames = 8

// interval returns Every, shortened at random, so that waiters that start together do not check at the same moment.
func (l Look) interval() time.Duration {
	if l.Every <= 0 {
		return 0
	}
	return l.Every*3/4 + rand.N(l.Every/4+1)
}

// asExpected reports whether all names are as expected. It stores the first file that File leads to in first.
func (l Look) asExpected(first *os.FileInfo) bool {
	exists := func(name string) bool {
		_, err := os.Lstat(filepath.Join(l.Directory.Name(), name))
		return err == nil
	}
	for _, name := range l.Stand[:min(MaxNames, len(l.Stand))] {
		if !exists(name) {
			return false
		}
	}
	if l.Absent != "" && exists(l.Absent) {
		return false
	}
	if l.File == "" {
		return true
	}
	info, err := os.Stat(l.File)
	if *first == nil {
		*first = info
	}
	return err == nil && os.SameFile(*first, info)
}

// waitAndLook implements Wait on all systems but Linux: it waits for events and checks the names at intervals.
func waitAndLook(d time.Duration, look Look, wait func(time.Duration) Event) Event {
	var first os.FileInfo
	end := time.Now().Add(d)
	for {
		left := time.Until(end)
		if left <= 0 {
			return Timeout
		}
		every := look.interval()
		if every == 0 {
			return wait(left)
		}
		if event := wait(min(left, every)); event != Timeout {
			return event
		}
		if !look.asExpected(&first) {
			return Seen
		}
	}
}
