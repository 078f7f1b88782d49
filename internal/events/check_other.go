//go:build !linux

package events

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// Only Linux has these two.

func (*watches) closeOf(int) (added bool, err error) { return false, errors.ErrUnsupported }

func (*watches) bell(int) {}

// isAsExpected reports whether all names exist.
func (c Check) isAsExpected() bool {
	for _, name := range c.Names[:min(MaxNames, len(c.Names))] {
		if _, err := os.Lstat(filepath.Join(c.Directory.Name, name)); err != nil {
			return false
		}
	}
	return true
}

// wait waits for events by waitOnce, which each system has, and checks the names at intervals.
func (w *watches) wait(d time.Duration, check Check, processes []process) (Event, []int) {
	end := time.Now().Add(d)
	for {
		left := time.Until(end)
		if left <= 0 {
			return Timeout, nil
		}
		every := check.interval()
		if every == 0 {
			return w.waitOnce(left, processes)
		}
		if event, ended := w.waitOnce(min(left, every), processes); event != Timeout {
			return event, ended
		}
		if !check.isAsExpected() {
			return Seen, nil
		}
	}
}
