package fallback

import (
	"math/rand/v2"
	"slices"

	"example.org/flock/fallback/openfile"
)

// hold makes us a holder. It needs the token. We do not become one if something has changed since the look: then we
// have to look again.
func (a *attempt) hold(s *snapshot) (isHeld bool, err error) {
	a.permit = a.choosePermit(s)
	if a.isFile {
		isHeld, err = a.holdByFile(s)
	} else {
		name := a.holderName(a.self.id, nil)
		if isHeld, err = a.holdAs(a.self.name, name); isHeld {
			a.self.name = name
		}
	}
	if isHeld && a.request.Mode != Exclusive {
		// Those before us are woken by the holder whose end has let us in: where A, B and C wait to share, and B is the
		// first to enter, it rings C. If we have converted the lock, no other holder has ended.
		after := a.self.id
		if s.has(ours) {
			after = ""
		}
		a.ringSharer(s.waiters, after)
	}
	return isHeld, err
}

// holderName is the name of the holder that we become.
func (a *attempt) holderName(id string, f *openfile.File) string {
	return recordName(a.request.Mode, id, a.permit, f)
}

// choosePermit returns the number of the permit that we get: the one that we have, or else the lowest that no other
// holder has. Fewer hold permits than there are, or we would be kept out, so one of the numbers is free.
func (a *attempt) choosePermit(s *snapshot) int {
	if a.request.Mode != Permit {
		return 0
	}
	taken := map[int]bool{}
	for _, r := range s.holders {
		switch {
		case r.verdict == ours && 0 < r.permit && r.permit <= a.request.Permits:
			return r.permit
		case r.verdict == ours, r.verdict == over, !a.isOfOurFile(r):
		default:
			taken[r.permit] = true
		}
	}
	number := 1
	for taken[number] {
		number++
	}
	return number
}

// holdAs gives a lifeline, or the record of an open file, its name as a holder.
func (a *attempt) holdAs(old, name string) (isHeld bool, err error) {
	if old == name {
		return true, nil
	}
	err = a.move(old, name)
	return err == nil, ignoreAbsent(err) // a cleaner of old files has removed it, or another process has just unlocked it
}

// draw returns a random number below n. The test that runs every interleaving replaces it.
var draw = rand.N[int]

// lastSignal is the highest number that an open file can have to know its record by: of the 64 qemu-user has no more.
const lastSignal = 62

// holdByFile makes our open file a holder. If it is one already, it keeps its mark and the ID of its record.
func (a *attempt) holdByFile(s *snapshot) (isHeld bool, err error) {
	at, err := a.Locate()
	if err != nil {
		return false, err
	}
	f := openfile.File{Location: at, FileID: a.ID(), LockerStart: at.Start}
	i := slices.IndexFunc(s.holders, func(r record) bool { return r.verdict == ours })
	if i < 0 {
		return a.markFile(s, f)
	}
	had := s.holders[i]
	f.Mark, f.Signal = had.file.Mark, had.file.Signal
	// A child can convert the lock of its parent. Whoever has inherited the file from either is younger than the elder.
	f.LockerStart = min(had.file.LockerStart, at.Start)
	return a.holdAs(had.name, a.holderName(had.id, &f))
}

// markFile makes the record of our open file, and marks it. The record comes before the mark: a flock that is killed in
// between leaves a record without a mark, which is dead, and never a mark that another record could take for its own.
func (a *attempt) markFile(s *snapshot, f openfile.File) (isHeld bool, err error) {
	signals := s.freeSignals()
	if len(signals) == 0 {
		return false, errNoSignal
	}
	f.Signal = signals[draw(len(signals))]
	for _, f.Mark = range openfile.Marks {
		name := a.holderName(a.self.id, &f)
		if err := a.Make(name); err != nil {
			return false, err
		}
		if err = a.Mark(f.Signal, f.Mark); err == nil {
			return true, nil
		}
		a.Remove(name)
	}
	return false, err
}

// freeSignals returns the numbers that no open file with a record has.
func (s *snapshot) freeSignals() (signals []int) {
	var used [lastSignal + 1]bool
	for _, r := range s.holders {
		if r.file != nil && r.verdict != over {
			used[min(r.file.Signal, lastSignal)] = true
		}
	}
	for n := 1; n <= lastSignal; n++ {
		if !used[n] {
			signals = append(signals, n)
		}
	}
	return signals
}
