//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd || windows)

package events

import (
	"errors"
	"os"
	"time"
)

var errNone = errors.New("events: none on this system")

// Supported says whether there are events on this system.
const Supported = false

// A Watcher knows what to wait for. It is not for concurrent use. Close it when done.
type Watcher struct{}

// Directory would have Wait end when the open directory changes.
func (w *Watcher) Directory(*os.File) (added bool, err error) { return false, errNone }

// NoDirectory undoes Directory.
func (w *Watcher) NoDirectory() {}

// Processes would have Wait end when one of these processes ends.
func (w *Watcher) Processes(pids []int) (added bool, err error) {
	if len(pids) == 0 {
		return false, nil
	}
	return false, errNone
}

// Pipe would have Wait end when a pipe is closed.
func (w *Watcher) Pipe(int) {}

// Bell would have Wait end when somebody writes to a pipe.
func (w *Watcher) Bell(int) {}

// Close ends all watching.
func (w *Watcher) Close() {}

// Wait waits until the look sees something, or the time is over.
func (w *Watcher) Wait(d time.Duration, look Look) Event {
	return waitLooking(d, look, func(d time.Duration) Event {
		time.Sleep(d)
		return Timeout
	})
}
