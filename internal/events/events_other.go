//go:build aix || illumos || plan9 || solaris

package events

import (
	"errors"
	"os"
	"time"
)

var errNone = errors.New("events: none on this system")

// Supported reports whether this system has events.
const Supported = false

// A Watcher is the set of things to wait for. It is not for concurrent use. Close it when done.
type Watcher struct{}

// Directory returns an error: this system has no such event.
func (w *Watcher) Directory(*os.File) (added bool, err error) { return false, errNone }

// NoDirectory ends the watching of the directory.
func (w *Watcher) NoDirectory() {}

// Processes returns an error unless pids is empty: this system has no such event.
func (w *Watcher) Processes(pids []int) (added bool, err error) {
	if len(pids) == 0 {
		return false, nil
	}
	return false, errNone
}

// Pipe does nothing: this system has no such event.
func (w *Watcher) Pipe(int) {}

// Bell does nothing: this system has no such event.
func (w *Watcher) Bell(int) {}

// Close ends all watching.
func (w *Watcher) Close() {}

// Wait waits until a check of look fails, or the time is over.
func (w *Watcher) Wait(d time.Duration, look Look) Event {
	return waitAndLook(d, look, func(d time.Duration) Event {
		time.Sleep(d)
		return Timeout
	})
}
