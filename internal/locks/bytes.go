package locks

import "math"

// Some bytes of a lock file, far beyond the end of any file, stand for something. They are locked with open file
// description locks. All who use the file must agree on them, so they never change.

// A Range is a range of bytes of a file. Length 0 means to the end of the file, however far it grows.
type Range struct{ Start, Length int64 }

var (
	// The places are before the permits, so that looking for a permit does not find them.
	Places = Range{1 << 61, math.MaxInt32}
	// The tickets of --replace are between the places and the permits. Nobody has the one with number 0.
	Tickets = Range{1<<61 + 1<<32, 1<<60 + 1}
	// The waiters for a permit wait for their turn by this byte: who has it is the next one.
	Turn = Range{1<<62 - 1, 1}
	// The permits begin so far out that unlocking them does not touch what --fcntl --start has locked on the same
	// descriptor.
	Permits = Range{1 << 62, math.MaxInt32}
)

// At returns byte i of a range, from 0 on.
func (r Range) At(i int64) Range { return Range{r.Start + i, 1} }

// Has reports whether a byte is one of a range that has a length.
func (r Range) Has(at int64) bool { return at >= r.Start && at-r.Start < r.Length }
