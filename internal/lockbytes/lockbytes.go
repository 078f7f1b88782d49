// Package lockbytes says which bytes of a lock file stand for what. All who use the file must agree on them, so they never
// change. They are locked with open file description locks, far beyond the end of any file.
package lockbytes

import "math"

// A Range is a range of bytes of a file. Length 0 is to the end of the file, however far it grows.
type Range struct{ Start, Length int64 }

const (
	// The permits begin so far out that unlocking them does not touch what --fcntl --start has locked on the same descriptor.
	permits = 1 << 62
	// The places are before the permits, so that looking for a permit does not find them.
	places = 1 << 61
	most   = math.MaxInt32 // of each
)

// Permits are the bytes of all permits.
var Permits = Range{permits, most}

// Line is the byte on which the waiters for a permit stand in line: who has it is the next one.
var Line = Range{permits - 1, 1}

// Permit returns the byte of permit i, from 0 on.
func Permit(i int) Range { return Range{permits + int64(i), 1} }

// Place returns the byte of place i of the queue of those who wait for the lock, from 0 on.
func Place(i int) Range { return Range{places + int64(i), 1} }

// IsPermit reports whether a write lock that begins at start is a permit.
func IsPermit(start int64) bool { return start >= permits && start < permits+most }

// IsPlace reports whether a write lock that begins at start is a place in a queue.
func IsPlace(start int64) bool { return start >= places && start < places+most }

// IsLine reports whether a write lock that begins at start is that of the next one who gets a permit.
func IsLine(start int64) bool { return start == Line.Start }
