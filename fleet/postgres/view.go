package main

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"example.org/flock/fleet/lease"
)

// A place is one in a line. The order is that of the changes by which the places were taken, from 1 on; -2 is who may
// have the lock by a server before, and -1 is a cooldown.
type place struct {
	order int64
	lives time.Duration // it is there at least for so long, unless somebody removes it
	lease.Contender
}

// A view is what was read about a lock.
type view struct {
	ttl         time.Duration
	change      int64         // the number of the last change, or of the one in which this was read
	quiet       time.Duration // how long nobody gets a lock, because the server is not known
	isTheServer bool          // that has given out locks; if not, the next change notes that
	epoch       int64         // how many servers have given out locks, or clocks of one: see isTheServer
	places      []place       // in order
	own         *row          // of the contender who has asked; nil: there is none
	quarters    int64         // of the server's connections that are in use; only a look asks for that
}

// readView reads the answer to read: the first columns of all rows say the same, about the server, and the others are
// one lock each, with one of its contenders, if it has any. Key is that of the row of the contender who has asked.
func readView(key string, rows [][][]byte) (v view, err error) {
	if len(rows) == 0 {
		return v, lease.Refused("the table flock.server is empty: drop the schema flock, and create it again as " +
			"flock-postgres --schema says")
	}
	first := row(rows[0])
	if first.isTrue(ofIsReplica) {
		return v, errReplica
	}
	v = view{ttl: time.Duration(first.int(ofTTL)) * time.Second, quiet: first.duration(ofQuiet),
		change: first.int(ofChange), isTheServer: first.isTrue(ofIsTheServer), epoch: first.int(ofEpoch)}
	isOfBefore := func(r [][]byte) bool { return !row(r).isNull(ofKey) && !row(r).isTrue(ofIsOfServer) }
	switch {
	case !v.isTheServer:
		v.quiet = v.ttl // it begins with the first change
	case slices.ContainsFunc(rows, isOfBefore):
		// The quiet time has not ended before these rows are gone. By the clock it may have, since they were judged:
		// then it lasts for the shortest time that is not zero.
		v.quiet = max(v.quiet, time.Microsecond)
	}
	if v.quiet > 0 {
		// Somebody may have the lock by a server that was before this one. Its place is before all others.
		v.places = append(v.places, place{-2, v.quiet,
			lease.Contender{Mode: lease.Unknown, ID: "unknown", Why: v.unknown()}})
	}
	cools := map[string]bool{} // by the names of locks
	for _, r := range rows {
		r, name := row(r), nameOf(r)
		if long := r.duration(ofCools); long > 0 && !cools[name] {
			cools[name] = true
			v.places = append(v.places, place{-1, long, lease.Contender{Lock: name, Mode: lease.Cooldown,
				Key: name + "/cooldown", Until: time.Now().Add(long), Cure: cureOfCooldown(name)}})
		}
		if r.isNull(ofKey) {
			continue
		}
		if r.text(ofKey) == key {
			v.own = &r
		}
		// Who was not heard of by this server is the one who is not known.
		if v.isTheServer && r.isTrue(ofIsOfServer) {
			v.places = append(v.places, placesOf(r, v.quiet)...)
		}
	}
	slices.SortStableFunc(v.places, func(a, b place) int { return cmp.Compare(a.order, b.order) })
	return v, nil
}

// unknown says why nobody can tell who has the lock; empty: it is known.
func (v *view) unknown() string {
	what, long := "PostgreSQL was restarted or its clock set back", fmt.Sprintf(", for %.1f s", v.quiet.Seconds())
	if areTablesNew := v.epoch == 0 || v.epoch == 1 && v.isTheServer; areTablesNew {
		what = "the tables are new"
	}
	switch {
	case !v.isTheServer:
		long = fmt.Sprintf("; the next request waits for %g s", v.ttl.Seconds())
	case v.quiet <= 0:
		return ""
	}
	return what + ": earlier locks may still be held" + long
}

// placesOf returns the places of a row: one for the cooldown if it respects that, and one for the lock if it has got
// there. Nobody expires in the quiet time.
func placesOf(r row, quiet time.Duration) (list []place) {
	name, lives := nameOf(r), max(r.duration(ofExpires), quiet)
	c := lease.Contender{Lock: name, Mode: lease.Mode(r.text(ofMode)), Permits: int(r.int(ofPermits)),
		ID: r.text(ofKey), Key: name + "/" + r.text(ofKey), Since: time.UnixMicro(r.int(ofSince)), Holds: r.isTrue(ofIsTaken),
		Host: r.text(ofHost), PID: int(r.int(ofPID)), User: r.text(ofUser)}
	if !r.isNull(ofCooling) {
		first := c
		first.Mode = lease.Cooldown
		list = append(list, place{r.int(ofCooling), lives, first})
	}
	if !r.isNull(ofSeq) {
		list = append(list, place{r.int(ofSeq), lives, c})
	}
	return list
}

func nameOf(r row) string {
	name, _ := hex.DecodeString(r.text(ofName))
	return string(name)
}

// before returns the line before a place.
func (v *view) before(order int64) (line lease.Line) {
	for _, p := range v.places {
		if p.order < order {
			line = append(line, p.Contender)
		}
	}
	return line
}

// A standing is where a contender stands, or may stand now.
type standing struct {
	cooling    int64 // its place in the line of those who respect the cooldown; 0: none
	seq        int64 // its place in the line for the lock; 0: none yet, because of the cooldown
	isEntitled bool
	isTaken    bool          // somebody who is known to be there keeps it out
	waiting    int           // how many places there are before it
	changes    time.Duration // when the first of these may be gone although nobody has removed it
}

// standingFor returns where a contender stands who has a row, or comes now.
func (v *view) standingFor(c lease.Claim) (s standing) {
	if v.own != nil {
		s.cooling, s.seq = v.own.int(ofCooling), v.own.int(ofSeq)
	} else if c.Cooldown > 0 {
		s.cooling = v.change
	}
	isFirst := s.cooling == 0 || !s.noteBefore(v, lease.Contender{Mode: lease.Cooldown}, s.cooling)
	if s.isTaken {
		s.seq = 0 // nobody has to wait for one who waits for a cooldown
		return s
	}
	seq := cmp.Or(s.seq, v.change)
	s.isEntitled = !s.noteBefore(v, lease.Contender{Mode: c.Mode, Permits: c.Permits}, seq)
	if isFirst { // in the line of those who respect the cooldown, if it is one of them
		s.seq = seq
	}
	return s
}

// noteBefore notes what is before a place in the line, and reports whether that keeps out a contender there.
func (s *standing) noteBefore(v *view, c lease.Contender, order int64) (isKeptOut bool) {
	s.waiting, s.changes = 0, v.ttl
	for _, p := range v.places {
		if p.order < order {
			s.waiting++
			s.changes = min(s.changes, p.lives)
		}
	}
	out := v.before(order).KeepOut(c)
	s.isTaken = len(out.Known()) > 0
	return len(out) > 0
}
