package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"example.org/flock/fleet/lease"
)

// A place is one in a line. The order is that of the changes by which the places were taken, from 1 on; -2 is who may
// have the lock by a server before, and -1 is a cooldown.
type place struct {
	order int64
	lives seconds // it is there at least for so long, unless somebody removes it
	lease.Contender
}

// A record is a row of the answer to read: the server's row, a lock, if there is any, and one of its contenders, if it
// has any.
type record struct {
	TTL         seconds
	Quiet       seconds // how long nobody gets a lock, because the server is not known
	IsTheServer bool    // that has given out locks; if not, the next change notes that
	Epoch       int64   // how many servers have given out locks, or clocks of one: see isTheServer
	IsReplica   bool

	Name   []byte // of the lock
	Change int64  // the number of its last change, or of the one in which this was read
	Cools  seconds

	lease.Contender       // its ID is the key of the row; empty: there is none
	Cooling, Seq    int64 // its places
	IsOfServer      bool  // it was renewed by the server that has given out locks
	Lives           seconds
}

// seconds is how long something lasts from now on.
type seconds float64

func (s seconds) duration() time.Duration { return time.Duration(float64(s) * float64(time.Second)) }

// A view is what was read about a lock.
type view struct {
	record                    // the first one; all say the same of the server
	places   []place          // in order
	own      *record          // of the contender who has asked; nil: there is none
	life     lease.Life       // of its row, if that was renewed
	last     []*lease.LastRun // of the locks
	token    int64            // of the lock that it has got; 0: none
	quarters int64            // of the server's connections that are in use; only a look asks for that
}

// readView reads the answer to read. Key is that of the row of the contender who has asked.
func readView(key string, answer *pgconn.Result) (view, error) {
	records, err := decode[record](answer)
	switch {
	case err != nil:
		return view{}, err
	case len(records) == 0:
		return view{}, lease.Refused("the table flock.server is empty: drop the schema flock, and create it again as " +
			"flock-postgres --schema says")
	case records[0].IsReplica:
		return view{}, errReplica
	}
	return viewOf(key, records), nil
}

// viewOf returns what records say.
func viewOf(key string, records []record) view {
	v := view{record: records[0]}
	isOfBefore := func(r record) bool { return r.ID != "" && !r.IsOfServer }
	switch {
	case !v.IsTheServer:
		v.Quiet = v.TTL // it begins with the first change
	case slices.ContainsFunc(records, isOfBefore):
		// The quiet time has not ended before these rows are gone. By the clock it may have, since they were judged:
		// then it lasts for the shortest time that is not zero.
		v.Quiet = max(v.Quiet, 1e-6)
	}
	if v.Quiet > 0 {
		// Somebody may have the lock by a server that was before this one. Its place is before all others.
		v.places = append(v.places, place{-2, v.Quiet,
			lease.Contender{Mode: lease.Unknown, ID: "unknown", Why: v.unknown()}})
	}
	cools := map[string]bool{} // by the names of locks
	for _, r := range records {
		r.Lock = string(r.Name)
		if r.Cools > 0 && !cools[r.Lock] {
			cools[r.Lock] = true
			v.places = append(v.places, place{-1, r.Cools, lease.Contender{Lock: r.Lock, Mode: lease.Cooldown,
				Key: r.Lock + "/cooldown", Until: r.Until, Cure: cureOfCooldown(r.Lock)}})
		}
		if r.ID == "" {
			continue
		}
		if r.ID == key {
			v.own = &r
		}
		// Who was not heard of by this server is the one who is not known.
		if v.IsTheServer && r.IsOfServer {
			v.places = append(v.places, r.placesOf(v.Quiet)...)
		}
	}
	slices.SortStableFunc(v.places, func(a, b place) int { return cmp.Compare(a.order, b.order) })
	return v
}

// unknown says why nobody can tell who has the lock; empty: it is known.
func (v *view) unknown() string {
	what, long := "PostgreSQL was restarted or its clock set back", fmt.Sprintf(", for %.1f s", v.Quiet)
	if areTablesNew := v.Epoch == 0 || v.Epoch == 1 && v.IsTheServer; areTablesNew {
		what = "the tables are new"
	}
	switch {
	case !v.IsTheServer:
		long = fmt.Sprintf("; the next request waits for %g s", v.TTL)
	case v.Quiet <= 0:
		return ""
	}
	return what + ": earlier locks may still be held" + long
}

// placesOf returns the places of a row: one for the cooldown if it respects that, and one for the lock if it has got
// there. Nobody expires in the quiet time.
func (r record) placesOf(quiet seconds) (list []place) {
	lives := max(r.Lives, quiet)
	r.Key, r.Until = r.Lock+"/"+r.ID, 0
	if r.Seq != 0 {
		list = append(list, place{r.Seq, lives, r.Contender})
	}
	if r.Mode = lease.Cooldown; r.Cooling != 0 {
		list = append(list, place{r.Cooling, lives, r.Contender})
	}
	return list
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
	cooling int64         // its place in the line of those who respect the cooldown; 0: none
	seq     int64         // its place in the line for the lock; 0: none yet, because of the cooldown
	out     lease.Line    // who keeps it out; nobody: it is entitled to the lock
	waiting int           // how many places there are before it
	changes time.Duration // when, on the clock of lease.Now, the first of these may be gone although nobody has removed it
}

// standingFor returns where a contender stands who has a row, or comes now.
func (v *view) standingFor(c lease.Claim) (s standing) {
	if v.own != nil {
		s.cooling, s.seq = v.own.Cooling, v.own.Seq
	} else if c.Cooldown > 0 {
		s.cooling = v.Change
	}
	if s.cooling != 0 {
		s.noteBefore(v, lease.Contender{Mode: lease.Cooldown}, s.cooling)
	}
	if len(s.out.Known()) > 0 {
		s.seq = 0 // nobody has to wait for one who waits for a cooldown
		return s
	}
	isFirst, seq := len(s.out) == 0, cmp.Or(s.seq, v.Change)
	s.noteBefore(v, lease.Contender{Mode: c.Mode, Permits: c.Permits}, seq)
	if isFirst { // in the line of those who respect the cooldown, if it is one of them
		s.seq = seq
	}
	return s
}

// noteBefore notes what is before a place in the line.
func (s *standing) noteBefore(v *view, c lease.Contender, order int64) {
	first := v.TTL
	s.waiting = 0
	for _, p := range v.places {
		if p.order < order {
			s.waiting++
			first = min(first, p.lives)
		}
	}
	s.changes, s.out = lease.Now()+first.duration(), v.before(order).KeepOut(c)
}
