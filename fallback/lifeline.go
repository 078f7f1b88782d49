package fallback

import (
	"runtime"
	"slices"
	"time"
)

// tellsEnd reports whether the system tells a waiter that nobody has another's lifeline any more. Windows does
// not, nor does poll(2) on macOS, NetBSD, DragonFly and illumos; of OpenBSD it is not known. There, who releases
// the lock rings the first waiter, and for the sake of those that were killed, waiters ask.
var tellsEnd = runtime.GOOS == "linux" || runtime.GOOS == "android" || runtime.GOOS == "freebsd"

// notWatching stands for a descriptor that would tell when an open file of the locked file is closed.
const notWatching = -1

// An answer says whether somebody has a lifeline or an open file.
type answer uint8

const (
	unknown    answer = iota // this process cannot tell; it counts as alive
	gone                     // nobody has it, for good
	alive                    // somebody has it
	absent                   // there is no such name, or nothing like it at that place
	noLifeline               // it is no lifeline; it counts as alive
)

// waitAsking is wait where the system does not tell that a lifeline has ended: it asks.
func (d *directory) waitAsking(own lifeline, closes int, others []string, limit time.Duration) (
	timedOut bool, err error) {
	const shortest, longest = 16 * time.Millisecond, 100 * time.Millisecond
	hasEnded := func(name string) bool { is := d.Ask(name); return is == gone || is == absent }
	for step, end := shortest, time.Now().Add(limit); ; step = min(2*step, longest) {
		if slices.ContainsFunc(others, hasEnded) {
			return false, nil
		}
		left := time.Until(end)
		if left <= 0 {
			return true, nil
		}
		if timedOut, err = d.wait(own, closes, nil, min(step, left)); err != nil || !timedOut {
			return false, err
		}
	}
}
