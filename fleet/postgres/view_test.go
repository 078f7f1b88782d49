package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"example.org/flock/fleet/lease"
)

// The simulation has four contenders for one lock take turns at random, while they die, the server is started anew, and
// its clock is set back. Where they stand is said by viewOf and standingFor. The tables are in memory: what the
// statements of transaction.go do to them is written here once more. Nothing takes time but what lets it pass.

const (
	simulatedTTL      = 10 * time.Second
	simulatedCooldown = 5 * time.Second
	simulatedPermits  = 2
)

// A simulatedRow is one of flock.contender.
type simulatedRow struct {
	key          string
	claim        lease.Claim
	cooling, seq int64
	isTaken      bool
	expires      time.Duration
	epoch        int64
}

// A simulated contender is one process.
type simulated struct {
	lease.Claim
	key    string
	isIn   bool          // its row was there
	holds  bool          // its command runs, until its life is over
	life   time.Duration // when that is; by then the command is dead whatever happens
	isDead bool          // it does nothing more
	isDone bool          // its command has run
}

type simulation struct {
	*rand.Rand
	log   func(format string, words ...any)
	now   time.Duration
	ahead time.Duration // of the server's clock
	keys  int
	all   []*simulated
	cool  time.Duration // when the cooldown that the last success has left is over

	// The tables:
	isSame bool // it is the server that has given out locks, if its clock was not set back
	quiet  time.Duration
	epoch  int64
	change int64
	cools  time.Duration
	rows   []*simulatedRow
}

func (x *simulation) clock() time.Duration { return x.now + x.ahead }

// isTheServer, isRowDead, meetServer, renewal and judge are the conditions and statements of these names.
func (x *simulation) isTheServer() bool { return x.isSame && x.quiet <= x.clock()+simulatedTTL }

func (x *simulation) isRowDead(r *simulatedRow) bool {
	return x.isTheServer() && x.quiet <= x.clock() && (r.epoch != x.epoch || r.expires <= x.clock())
}

func (x *simulation) meetServer() {
	if !x.isTheServer() {
		x.isSame, x.epoch, x.quiet = true, x.epoch+1, x.clock()+simulatedTTL
	}
}

func (x *simulation) renewal(c *simulated) (isRenewed bool) {
	for _, r := range x.rows {
		if r.key == c.key && !x.isRowDead(r) {
			r.expires, r.epoch = x.clock()+simulatedTTL, x.epoch
			c.life, isRenewed = x.now+simulatedTTL, true
		}
	}
	return isRenewed
}

// judge leaves no cooldown: all count from a success.
func (x *simulation) judge() { x.remove(x.isRowDead) }

func (x *simulation) remove(which func(*simulatedRow) bool) {
	var left []*simulatedRow
	for _, r := range x.rows {
		if !which(r) {
			left = append(left, r)
		}
	}
	x.rows = left
}

// read returns the view of who has the key. Of rows that are dead it has none if it is a look.
func (x *simulation) read(key string, isLook bool) view {
	first := record{Epoch: x.epoch, TTL: seconds(simulatedTTL.Seconds()), Quiet: seconds((x.quiet - x.clock()).Seconds()),
		IsTheServer: x.isTheServer(), Name: []byte("name"), Change: x.change,
		Cools: seconds((x.cools - x.clock()).Seconds())}
	var records []record
	for _, of := range x.rows {
		if isLook && x.isRowDead(of) {
			continue
		}
		r := first
		r.Contender = lease.Contender{ID: of.key, Mode: of.claim.Mode, Permits: of.claim.Permits, Holds: of.isTaken,
			Since: 1, Host: "host", PID: 1, User: "user"}
		r.Cooling, r.Seq, r.IsOfServer = of.cooling, of.seq, of.epoch == x.epoch
		r.Lives = seconds((of.expires - x.clock()).Seconds())
		records = append(records, r)
	}
	if len(records) == 0 {
		records = append(records, first)
	}
	return viewOf(key, records)
}

func (x *simulation) setBack() {
	back := time.Duration(x.IntN(20)) * time.Second
	x.log("the server's clock is set back by %v", back)
	x.ahead -= back
}

// act has a contender do what it does next.
func (x *simulation) act(c *simulated) error {
	switch {
	case c.isDead || c.isDone:
		return nil
	case !c.holds:
		return x.contend(c)
	case c.life <= x.now: // killed
		return x.end(c, false)
	}
	x.meetServer()
	if x.IntN(20) == 0 {
		x.setBack()
	}
	if !x.renewal(c) {
		return fmt.Errorf("%s has lost its lock in its life", c.key)
	}
	return nil
}

// contend has one that has not got the lock yet look and, if it is time for that, make a change.
func (x *simulation) contend(c *simulated) error {
	if c.isIn {
		if c.life-simulatedTTL*6/10 <= x.now {
			x.renewal(c)
		}
		v := x.read(c.key, true)
		if s := v.standingFor(c.Claim); v.own != nil && v.IsTheServer && len(s.out) > 0 && s.seq == v.own.Seq {
			return nil
		}
	}
	x.change++
	x.meetServer()
	x.renewal(c)
	x.judge()
	v := x.read(c.key, false)
	if v.own == nil {
		if c.isIn {
			x.log("%s has lost its place", c.key)
		}
		x.keys++
		c.key, c.isIn = fmt.Sprintf("%s-%d", c.Mode, x.keys), true
		v = x.read(c.key, false)
		x.rows = append(x.rows, &simulatedRow{key: c.key, claim: c.Claim})
	}
	s := v.standingFor(c.Claim)
	for _, r := range x.rows {
		if r.key == c.key {
			r.cooling, r.seq, r.isTaken = s.cooling, s.seq, r.isTaken || len(s.out) == 0
			r.expires, r.epoch = x.clock()+simulatedTTL, x.epoch
		}
	}
	x.log("%s has place %d for the cooldown, %d for the lock, and has it: %v", c.key, s.cooling, s.seq, len(s.out) == 0)
	c.life, c.holds = x.now+simulatedTTL, len(s.out) == 0
	return x.checkHolders(c)
}

// end has a command end, or die at the end of its life.
func (x *simulation) end(c *simulated, hasSucceeded bool) error {
	x.log("%s ends, with success: %v", c.key, hasSucceeded)
	c.holds, c.isDone = false, true
	x.change++
	x.meetServer()
	x.remove(func(r *simulatedRow) bool { return r.key == c.key })
	if hasSucceeded && c.Cooldown > 0 {
		x.cool, x.cools = x.now+c.Cooldown, max(x.cools, x.clock()+c.Cooldown)
	}
	return nil
}

// checkHolders checks that one that has just got the lock may have it.
func (x *simulation) checkHolders(c *simulated) error {
	if !c.holds {
		return nil
	}
	permits := 0
	for _, o := range x.all {
		switch {
		case !o.holds || o.life <= x.now:
		case o != c && (o.Mode == lease.Exclusive || c.Mode == lease.Exclusive):
			return fmt.Errorf("two: %s and %s", o.key, c.key)
		case o.Mode == lease.Permit:
			permits++
		}
	}
	switch {
	case permits > simulatedPermits:
		return fmt.Errorf("%s has permit %d", c.key, permits)
	case c.Cooldown > 0 && x.now < x.cool:
		return fmt.Errorf("%s runs in the cooldown", c.key)
	}
	return nil
}

// checkList checks that nobody who cannot have the lock is listed as a holder. Who is listed is what package lease says
// of the line.
func (x *simulation) checkList() error {
	v := x.read("", true)
	line := v.before(math.MaxInt64)
	for i, p := range line {
		isListed := p.Mode != lease.Unknown && p.Mode != lease.Cooldown && (p.Holds || len(line[:i].KeepOut(p)) == 0)
		for _, c := range x.all {
			if !isListed || c.key != p.ID || c.holds || c.isDead {
				continue
			}
			if own := x.read(c.key, true); len(own.standingFor(c.Claim).out) > 0 {
				return fmt.Errorf("%s waits, and is listed as a holder", c.key)
			}
		}
	}
	return nil
}

// disturb does something at random.
func (x *simulation) disturb() error {
	c := x.all[x.IntN(len(x.all))]
	switch n := x.IntN(20); {
	case n == 0:
		x.log("the server is started anew")
		x.isSame = false
	case n == 1:
		x.setBack()
	case n == 2 && x.IntN(3) == 0:
		x.log("%s dies", c.key)
		c.isDead = true
	case n < 6 && c.holds && c.life > x.now && !c.isDead:
		return x.end(c, x.IntN(2) == 0)
	case n < 9:
		x.now += time.Duration(x.IntN(3000)) * time.Millisecond
	default:
		return x.act(c)
	}
	return nil
}

// finish has nothing happen any more, and all who live get in.
func (x *simulation) finish() error {
	x.log("nothing happens any more")
	for range 200 {
		x.now += time.Second
		left := 0
		for _, i := range x.Perm(len(x.all)) {
			c := x.all[i]
			err := x.act(c)
			if err == nil && c.holds && !c.isDead {
				err = x.end(c, x.IntN(2) == 0)
			}
			if err != nil {
				return err
			}
			if !c.isDead && !c.isDone {
				left++
			}
		}
		if err := x.checkList(); err != nil || left == 0 {
			return err
		}
	}
	return fmt.Errorf("nobody gets in any more")
}

// simulate runs one simulation. Kinds has the modes of the contenders, two bits for each.
func simulate(kinds int, seed uint64, log func(string, ...any)) error {
	x := &simulation{Rand: rand.New(rand.NewPCG(uint64(kinds), seed)), log: log, isSame: true, epoch: 1,
		quiet: -time.Hour, cools: -time.Hour}
	for i := range 4 {
		claims := []lease.Claim{{Mode: lease.Exclusive}, {Mode: lease.Shared},
			{Mode: lease.Permit, Permits: simulatedPermits}, {Mode: lease.Exclusive, Cooldown: simulatedCooldown}}
		x.all = append(x.all, &simulated{Claim: claims[kinds>>(2*i)&3], key: fmt.Sprint("newcomer ", i)})
	}
	for range 40 {
		err := x.disturb()
		if err == nil && x.ahead == 0 { // else a cooldown may have begun anew, which is not seen before the next look
			err = x.checkList()
		}
		if err != nil {
			return err
		}
	}
	return x.finish()
}

// TestSimulation: never two have the lock, everybody gets in, and nobody who waits is listed as a holder.
func TestSimulation(t *testing.T) {
	t.Parallel()
	const seeds = 16
	failed := map[string]int{}
	for kinds := range 256 {
		for seed := range uint64(seeds) {
			err := simulate(kinds, seed, func(string, ...any) {})
			if err == nil {
				continue
			}
			if failed[err.Error()]++; len(failed) < 3 && failed[err.Error()] == 1 {
				t.Errorf("kinds %d, seed %d: %v", kinds, seed, err)
				simulate(kinds, seed, t.Logf)
			}
		}
	}
	if len(failed) > 0 {
		t.Errorf("of %d simulations: %v", 256*seeds, failed)
	}
}
