//go:build unix

package locks

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"time"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/lockfile"
)

// A permit is one of several. It has two halves, which are locks of the same open file: a shared lock of flock(2),
// which an exclusive one waits for, and the lock of one of so many bytes, an open file description lock. The kernel
// frees both when their last holder dies, and a child that has the descriptor keeps them.
//
// The kernel can wait for one given byte only, and a permit is any of several. So its waiters ask again and again. The
// turn is one byte more, so that only the one whose turn it is asks. Who has which lock, and when:
//
//	                            shared flock(2)   byte of a permit   byte of the turn
//	holds a permit              yes               yes                no
//	waits, and it is its turn   while it asks     while it asks      yes
//	waits for its turn          no                no                 waits for it
//	waits without a turn        while it asks     while it asks      no
//
// Between two attempts a waiter has no half: an exclusive lock waits for holders, not for waiters. Who cannot wait for
// its turn waits without one. Where a lock of flock(2) covers bytes (coversBytes), a permit is its byte only, which
// keeps out an exclusive lock by itself.
type permit struct {
	file      *lockfile.File
	count     int
	withFlock bool
	number    int // of the one that Lock has taken
}

var errPermitOnNetwork = errors.New("on NFS --permits needs --backend directory or --backend fcntl, " +
	"for all who use the file; on SMB it does not work")

func (p *permit) Lock(_ Op, timeout Timeout) error {
	// There the shared lock of one holder excludes the bytes of all others. Without it a plain lock does not always
	// exclude them: a client of NFS 4 that has the file to itself compares locks of one kind only, and on SMB single
	// bytes let too many in.
	if fs := p.file.Network(); fs == lockfile.SMB || fs == lockfile.NFS && p.withFlock {
		return failure.New(failure.ExDataErr, p.file.Name, errPermitOnNetwork)
	}
	isTurn, err := p.awaitTurn(timeout)
	if err != nil {
		return err
	}
	if isTurn {
		defer p.file.CloseForBytes()
	}
	return p.explain(p.wait(timeout, isTurn))
}

func (p *permit) PermitNumber() int { return p.number }

func (p *permit) Kind() Kind { return ByFlock | ByFcntl }

// Unlock releases both halves of a permit, or the one that is there.
func (p *permit) Unlock() error { return p.explain(p.unlockHalves()) }

func (p *permit) explain(answer error) error {
	if isUnsupportedForBytes(answer) {
		return &Unsupported{lockingError(p.file, answer)}
	}
	if p.withFlock {
		return flockError(p.file, answer)
	}
	return lockingError(p.file, answer)
}

// awaitTurn waits until this process is the next one that gets a permit, and reports whether it is. The byte of the
// turn is locked by an open file of the waiter's own, so that it is free when the waiter dies: the lock file itself may
// be open in a shell, too.
func (p *permit) awaitTurn(timeout Timeout) (isTurn bool, err error) {
	if !timeout.Waits() || !p.mayAwaitTurn() {
		return false, nil
	}
	own, err := p.file.OpenForBytes()
	if err != nil {
		return false, nil
	}
	err = callWithin(timeout, bytesCall(Turn), own.FD, Exclusive)
	if _, answered := err.(syscall.Errno); answered { // there are no byte locks here: the call for a permit will say so
		return false, nil
	}
	return err == nil, err
}

// mayAwaitTurn reports whether waiters for this file take turns, and this process may.
func (p *permit) mayAwaitTurn() bool {
	if !HasPlaces || !p.withFlock || p.file.Network() != lockfile.Local { // they do not
		return false
	}
	if !p.file.ByName { // a lock that this open file has may be what those ahead wait for
		shown, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(p.file.FD))
		if err != nil || bytes.Contains(shown, []byte("\nlock:")) {
			return false
		}
	}
	// Where there is no flock(2), the whole lock is that of all bytes, and would wait for those who only wait. An unlock
	// call tells whether there is one, and changes nothing: this open file has no lock.
	return flockCall(p.file.FD, Unlock, false) == nil
}

// wait takes a permit within the timeout. It asks the less often the longer it has waited.
func (p *permit) wait(timeout Timeout, isTurn bool) error {
	longest := 100 * time.Millisecond
	if isTurn { // so nobody else asks
		longest /= 2
	}
	if coversBytes && !p.file.ByName {
		flockCall(p.file.FD, Unlock, false) // it would wait for its own lock
	}
	for began := time.Now(); ; {
		if p.withFlock { // an exclusive lock of somebody else keeps it out; where there is no flock(2) nobody has one
			err := callReopening(p.file, flockCall, Shared, timeout)
			if err != nil && !isUnsupported(err) {
				return err
			}
		}
		err := p.lockAnyByte()
		if err == nil {
			return nil
		}
		p.unlockHalves()
		if err != ErrConflict {
			return err
		}
		pause := max(time.Millisecond, min(time.Since(began)/20, longest))
		if err := timeout.Sleep(pause/2 + rand.N(pause)); err != nil {
			return err
		}
	}
}

// lockAnyByte takes the second half without a wait: of the permit that the open file has from before, or else of the
// lowest that is free. With another one the number could go to another holder while the command before still uses it.
func (p *permit) lockAnyByte() error {
	first, end := Permits.Start, Permits.Start+int64(p.count)
	if !p.file.ByName {
		if err := p.lockAgain(first, end); err != ErrConflict {
			return err
		}
	}
	for next := first; next < end; {
		if err := p.lockByte(next); err != ErrConflict {
			return err
		}
		l, isLocked, _ := lockInTheWay(p.file.FD, Exclusive, Range{next, 1})
		if next++; isLocked {
			next = endOf(l) // a lock of --fcntl can be on all of them
		}
	}
	return ErrConflict
}

// lockAgain locks the byte from first to before end that this open file has locked already, or the lowest of several.
// The kernel shows some lock there, perhaps another one's (see lockInTheWay), whose bytes cannot be locked: then those
// on both sides of it are asked for.
func (p *permit) lockAgain(first, end int64) error {
	if first >= end {
		return ErrConflict
	}
	l, isLocked, _ := lockInTheWay(p.file.FD, Exclusive, Range{first, end - first})
	if !isLocked {
		return ErrConflict
	}
	start := max(l.Start, first)
	if err := p.lockByte(start); err != ErrConflict { // at once: if its owner unlocked it, this would take it instead
		return err
	}
	if err := p.lockAgain(first, start); err != ErrConflict {
		return err
	}
	return p.lockAgain(endOf(l), end)
}

// lockByte locks the byte of a permit and unlocks those of all others.
func (p *permit) lockByte(own int64) error {
	i := own - Permits.Start
	err := setBytes(p.file.FD, Exclusive, Range{own, 1})
	if err == nil && i > 0 {
		err = setBytes(p.file.FD, Unlock, Range{Permits.Start, i})
	}
	if err == nil {
		err = setBytes(p.file.FD, Unlock, Range{own + 1, Permits.Length - i - 1})
	}
	p.number = int(i) + 1
	return err
}

// unlockHalves unlocks both halves. The answer is that of the byte locks, if flock(2) has none.
func (p *permit) unlockHalves() error {
	answer := setBytes(p.file.FD, Unlock, Permits)
	if err := flockCall(p.file.FD, Unlock, false); err != nil && !isUnsupported(err) {
		return err
	}
	return answer
}

// A halfPermit is a permit where the kernel has flock(2) and no byte locks: the shared lock, which an exclusive one
// waits for, and a permit of the directory lock.
type halfPermit struct{ *directory }

func (p halfPermit) Lock(op Op, timeout Timeout) error {
	ofKernel := op
	if p.config.Permits > 0 {
		ofKernel = Shared
	}
	if err := callReopening(p.file, flockCall, ofKernel, timeout); err != nil && !isUnsupported(err) {
		return flockError(p.file, err)
	}
	if err := p.directory.Lock(op, timeout); err != nil {
		flockCall(p.file.FD, Unlock, false)
		return err
	}
	return nil
}

func (p halfPermit) Unlock() error {
	err := p.directory.Unlock()
	if answer := flockCall(p.file.FD, Unlock, false); err == nil && !isUnsupported(answer) {
		err = flockError(p.file, answer)
	}
	return err
}

func (halfPermit) Kind() Kind { return ByDirectory | byHalf }
