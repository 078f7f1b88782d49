package main

import (
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"time"

	"example.org/flock/lease"
)

// A place is one in a line. The order is that of the changes by which the places were taken.
type place struct {
	order int64
	lease.Contender
}

// A view is what was read about a lock.
type view struct {
	ttl       time.Duration
	change    int64         // the number of the last change, or of the one in which this was read
	quiet     time.Duration // how long nobody gets a lock, because the server is not known
	isAnother bool          // this server is not that of the server's row: the next change notes that
	cools     time.Duration // how long the cooldown lasts
	places    []place       // in order
	own       *row          // of the contender who has asked; nil: there is none
}

// schemaVersion is that of the tables.
const schemaVersion = 1

// readView reads the answer to read.
func readView(key string, rows [][][]byte) (v view, err error) {
	if len(rows) == 0 {
		return v, lease.Refused("the table flock.server is empty: drop the schema flock, and make it anew as " +
			"flock-postgres --schema says")
	}
	first := row(rows[0])
	if first.int(ofVersion) != schemaVersion {
		return v, lease.Refused(fmt.Sprintf("the tables have version %d, and this program needs %d: "+
			"see flock-postgres --schema", first.int(ofVersion), schemaVersion))
	}
	if first.isTrue(ofIsReplica) {
		return v, errReplica
	}
	v = view{ttl: time.Duration(first.int(ofTTL)) * time.Second, quiet: first.duration(ofQuiet),
		change: first.int(ofChange), cools: first.duration(ofCools)}
	if v.isAnother = first.isTrue(ofIsAnother); v.isAnother {
		v.quiet = v.ttl // it begins with the first change
	}
	if v.quiet > 0 {
		// Somebody may have the lock by a server that was before this one. Its place is before all others.
		v.places = append(v.places, place{-2, lease.Contender{Mode: lease.Exclusive, ID: "unknown"}})
	}
	for _, r := range rows {
		if r := row(r); !r.isNull(ofKey) {
			if r.text(ofKey) == key {
				v.own = &r
			}
			v.places = append(v.places, placesOf(r)...)
		}
	}
	if v.cools > 0 {
		v.places = append(v.places, place{-1, lease.Contender{Mode: lease.Cooldown, Until: time.Now().Add(v.cools)}})
	}
	slices.SortStableFunc(v.places, func(a, b place) int { return int(a.order - b.order) })
	return v, nil
}

// placesOf returns the places of a row: one for the cooldown if it respects that, and one for the lock if it has got
// there.
func placesOf(r row) (list []place) {
	name := nameOf(r)
	c := lease.Contender{Lock: name, Mode: lease.Mode(r.text(ofMode)), Permits: int(r.int(ofPermits)),
		ID: r.text(ofKey), Key: name + "/" + r.text(ofKey), Since: time.UnixMicro(r.int(ofSince)),
		Host: r.text(ofHost), PID: int(r.int(ofPID)), User: r.text(ofUser)}
	if !r.isNull(ofCooling) {
		first := c
		first.Mode = lease.Cooldown
		list = append(list, place{r.int(ofCooling), first})
	}
	if !r.isNull(ofSeq) {
		list = append(list, place{r.int(ofSeq), c})
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
	cooling  int64 // its place in the line of those who respect the cooldown; 0: none
	seq      int64 // its place in the line for the lock; 0: none yet, because of the cooldown
	entitled bool
	waiting  int // how many places there are before it
}

// stand returns where a contender stands who has a row, or comes now.
func (v *view) stand(r lease.Request) (s standing) {
	if v.own != nil {
		s.cooling, s.seq = v.own.int(ofCooling), v.own.int(ofSeq)
	} else if r.Cooldown > 0 {
		s.cooling = v.change
	}
	if s.cooling > 0 && len(v.before(s.cooling).KeepOut(lease.Contender{Mode: lease.Cooldown})) > 0 {
		s.waiting = len(v.before(s.cooling))
		return s
	}
	if s.seq == 0 {
		s.seq = v.change
	}
	before := v.before(s.seq)
	s.waiting = len(before)
	s.entitled = len(before.KeepOut(lease.Contender{Mode: r.Mode, Permits: r.Permits})) == 0
	return s
}

// refusal returns why a newcomer is refused; nil: it is not.
func (v *view) refusal(r lease.Request) error {
	line := v.before(math.MaxInt64)
	switch {
	case !r.Refused(line):
		return nil
	case v.quiet > 0 && !r.Refused(line[1:]):
		return lease.Unavailable(unknownHolders(v.quiet))
	}
	return lease.ErrTaken
}

// unknownHolders says that nobody gets a lock for so long.
func unknownHolders(quiet time.Duration) string {
	return fmt.Sprintf("PostgreSQL was started or replaced a moment ago: "+
		"who has a lock by the server of before is unknown for %.1f s", quiet.Seconds())
}
