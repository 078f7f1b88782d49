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

// waitAndCheck waits for events and checks the names at intervals.
func waitAndCheck(d time.Duration, check Check, wait func(time.Duration) (Event, []int)) (Event, []int) {
	end := time.Now().Add(d)
	for {
		left := time.Until(end)
		if left <= 0 {
			return Timeout, nil
		}
		every := check.interval()
		if every == 0 {
			return wait(left)
		}
		if event, ended := wait(min(left, every)); event != Timeout {
			return event, ended
		}
		if !check.isAsExpected() {
			return Seen, nil
		}
	}
}
