//go:build unix

package guard

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now reads the clock of the deadlines.
func Now() time.Duration { return readClock() }

// readClock is Now. Only tests change it.
var readClock = func() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic(err) // every supported system has this clock
	}
	return time.Duration(t.Nano())
}

const never = time.Duration(1<<63 - 1)

// grace is the time between SIGTERM and SIGKILL. Only tests change it.
var grace = 10 * time.Second
