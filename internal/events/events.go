// Package events waits until a directory changes, a process ends, a pipe is closed, or a time is over, whichever comes
// first.
//
// It starts no goroutine and no thread, installs no signal handler and uses no timer of the Go runtime: a wait is a
// blocked system call. Where a system has no such events, or the caller's limits are used up, the methods of Watcher
// say so, and Wait still looks at names at intervals.
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
	// Changed: a name in the directory was renamed or removed, or the directory itself; on some systems also made. Or
	// the bell was rung.
	Changed
	// Ended: a process has ended. It is not watched any more.
	Ended
	// Closed: all readers of the pipe have closed it. It is not watched any more.
	Closed
	// Seen: the look at intervals found that a name is not as it should be.
	Seen
)

// A Look is what Wait looks at by itself, for what no event tells.
type Look struct {
	// Every is how often, at least; 0: never.
	Every time.Duration
	// Directory is where the names are. It is opened anew each time, so that a network filesystem asks its server.
	Directory *os.File
	// Stand are names that should be there, and Absent one that should not, or "".
	Stand  []string
	Absent string
	// File is a name, as in /proc/PID/fd, that should lead to the same file as at the beginning of the Wait, or "".
	File string
}

// MaxNames is how many names a Look looks at; more are left out.
const MaxNames = 8

// interval returns Every, shortened at random: waiters that were started at once do not look at once.
func (l Look) interval() time.Duration {
	if l.Every <= 0 {
		return 0
	}
	return l.Every*3/4 + rand.N(l.Every/4+1)
}

// asExpected looks at the names. The first file that File leads to is kept in first.
func (l Look) asExpected(first *os.FileInfo) bool {
	stands := func(name string) bool {
		_, err := os.Lstat(filepath.Join(l.Directory.Name(), name))
		return err == nil
	}
	for _, name := range l.Stand[:min(MaxNames, len(l.Stand))] {
		if !stands(name) {
			return false
		}
	}
	if l.Absent != "" && stands(l.Absent) {
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

// waitLooking is Wait for systems that look in between by ordinary means.
func waitLooking(d time.Duration, look Look, wait func(time.Duration) Event) Event {
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
