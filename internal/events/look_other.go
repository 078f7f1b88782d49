//go:build !linux

package events

import (
	"os"
	"path/filepath"
	"time"
)

// isAsExpected reports whether all names exist.
func (l Look) isAsExpected() bool {
	for _, name := range l.Names[:min(MaxNames, len(l.Names))] {
		if _, err := os.Lstat(filepath.Join(l.Directory.Name, name)); err != nil {
			return false
		}
	}
	return true
}

// waitAndLook waits for events and checks the names at intervals.
func waitAndLook(d time.Duration, look Look, wait func(time.Duration) (Event, []int)) (Event, []int) {
	end := time.Now().Add(d)
	for {
		left := time.Until(end)
		if left <= 0 {
			return Timeout, nil
		}
		every := look.interval()
		if every == 0 {
			return wait(left)
		}
		if event, ended := wait(min(left, every)); event != Timeout {
			return event, ended
		}
		if !look.isAsExpected() {
			return Seen, nil
		}
	}
}
