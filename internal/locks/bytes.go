package locks

import "math"

// Some bytes of a lock file, far beyond the end of any file, stand for something. They are locked with open file
// description locks. All who use the file must agree on them, so they never change.

// A Range is a range of bytes of a file. Length 0 means to the end of the file, however far it grows.
type Range struct{ Start, Length int64 }

const (
	// The permits begin so far out that unlocking them does not touch what --fcntl --start has locked on the same
	// descriptor.
	firstPermit = 1 << 62
	// The places are before the permits, so that looking for a permit does not find them.
	firstPlace = 1 << 61
	mostBytes  = math.MaxInt32 // of each
	// The tickets are between the places and the permits.
	firstTicket = firstPlace + 1<<32
	mostTickets = 1 << 60
)

var (
	allPermits = Range{firstPermit, mostBytes}
	// The waiters for a permit wait for their turn by this byte: who has it is the next one.
	turnByte = Range{firstPermit - 1, 1}
)

// permitByte returns the byte of permit i, from 0 on.
func permitByte(i int) Range { return Range{firstPermit + int64(i), 1} }

// PermitBytes returns the bytes of count permits.
func PermitBytes(count int) Range { return Range{firstPermit, int64(count)} }

// placeByte returns the byte of place i, from 0 on, in the queue of those who wait for the lock.
func placeByte(i int) Range { return Range{firstPlace + int64(i), 1} }

// IsPermit reports whether a write lock that begins at start is a permit.
func IsPermit(start int64) bool { return start >= firstPermit && start < firstPermit+mostBytes }

// IsPlace reports whether a write lock that begins at start is a place in a queue.
func IsPlace(start int64) bool { return start >= firstPlace && start < firstPlace+mostBytes }

// ticketByte returns the byte of a ticket, from 1 on.
func ticketByte(number int64) Range { return Range{firstTicket + number, 1} }

// IsTicket reports whether a write lock that begins at start is a ticket of --replace.
func IsTicket(start int64) bool { return start > firstTicket && start <= firstTicket+mostTickets }

// IsTurn reports whether a write lock that begins at start is that of the waiter who gets the next permit.
func IsTurn(start int64) bool { return start == turnByte.Start }
