package fallback

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"strings"
	"time"
)

// A space is all that the protocol asks of the world. The shipped one is a directory and the system's clock and
// process table; the test that runs every interleaving has another.
type space interface {
	// List returns the names in the directory. While another process renames, it may miss both names or show both.
	List() ([]string, error)
	// Exists reports whether a name stands.
	Exists(name string) (bool, error)
	// Rename, Create and Remove are atomic. Rename and Remove of a name that is not there answer fs.ErrNotExist.
	Rename(old, new string) error
	Create(name string) error
	Remove(name string) error

	// Queue makes it seen that we wait, and returns how many do; Leave ends that. Watch has Pause end when one of these
	// records is gone or something happens to its owner. Pause reports whether something has happened that the records
	// do not show. Nothing but the length of pauses depends on all this.
	Queue(Owner) int
	Watch([]record, func(Owner) Sign) watched
	Pause(time.Duration) (happened bool)
	Leave()
	// Wake wakes waiters, as the lock may be free for one. Without anew only those that the last listing showed.
	Wake(anew bool)

	Fate(Owner) fate
	Now() time.Time
}

// fate is what this process can tell about another.
type fate uint8

const (
	alive   fate = iota
	dead         // for good: an ID never comes twice
	unknown      // on another machine or in another pid namespace; counts as alive
)

// A call is one lock or unlock operation.
//
// Two processes figure in it. The owner is the process whose life the lock follows; the actor is the one that carries
// out the moves, and it is the actor that a busy token names. They differ where flock(1) locks a descriptor of the
// shell that called it: were the token to name the shell, a flock killed between two moves would leave a token that
// looks alive for as long as the shell runs.
type call struct {
	space
	request Request
	busy    string           // the token while this call has it
	owner   Owner            // with the nonce of this call
	ours    func(Owner) bool // whether a record of this owner is our own
	gone    func(Owner) bool // whether a living process has let go all the same; may be nil
	ctx     context.Context  // whose error ends the wait; may be nil
	sign    func(Owner) Sign
	notice  func([]record) // called once after a while; may be nil
}

// How often and how long a listing without exactly one token is looked at again before it is believed.
const looks = 12

// look lists the directory until it makes sense.
func (c *call) look() (view, error) {
	last := ""
	for n, pause := 0, time.Millisecond; ; n++ {
		names, err := c.List()
		if err != nil {
			return view{}, err
		}
		v, complaint := parse(names)
		if complaint == "" {
			return v, nil
		}
		if complaint != last {
			n, last = 0, complaint
		}
		if n == looks {
			if c.busy != "" { // free until we came, and again when we are gone
				complaint = strings.Replace(complaint, c.busy, free, 1)
			}
			return v, stateError(complaint + "; when nobody uses the lock, remove the directory")
		}
		c.Pause(pause)
		pause = min(2*pause, 50*time.Millisecond)
	}
}

// move renames and reports whether that can have been our doing. That the name was not there is no error: somebody
// else was faster; or, over NFS, it is the second answer to a request that was carried out and whose first answer got
// lost. Nobody decides by the difference: the next look shows which name stands.
func (c *call) move(old, new string) (bool, error) {
	err := c.Rename(old, new)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (c *call) remove(rs ...record) error {
	for _, r := range rs {
		if err := c.Remove(r.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (c *call) lives(r record) bool {
	for _, process := range r.owner.processes() {
		switch c.Fate(process) {
		case unknown:
			return true
		case alive:
			if r.kind == kindBusy || c.gone == nil || !c.gone(process) {
				return true
			}
		}
	}
	return false
}

// attempt goes through the moves until the lock is ours (nil, nil) or held by others: then it returns the records of
// which each one has to stand for that to be so.
func (c *call) attempt() ([]record, error) {
	for n := 0; ; n++ {
		if n > 20 { // on a filesystem that shows old listings: at least do not spin
			c.Pause(time.Millisecond)
		}
		v, err := c.look()
		if err != nil {
			c.move(c.busy, free)
			return nil, err
		}
		t := v.token
		switch {
		case t.name == c.busy:
			held, wait, err := c.enter(v)
			if err != nil {
				c.move(c.busy, free)
			}
			if held || wait != nil || err != nil {
				return wait, err
			}
			continue
		case t.kind == kindFree:
			if wait := c.obstacles(v); wait != nil {
				own := c.own(v)
				err := c.remove(own...)
				if len(own) > 0 {
					c.Wake(true)
				}
				return wait, err
			}
		case t.kind == kindExcl && c.ours(t.owner):
			if c.request.Mode == Exclusive {
				// By a new name: somebody may take the owner for gone, and be about to steal the old one.
				renewed := newRecord(kindExcl, c.ownerAfter([]record{t})).name
				if t.name == renewed {
					return nil, nil
				}
				if held, err := c.move(t.name, renewed); held || err != nil {
					return nil, err
				}
				continue
			}
			// The exclusive token stays until the new record stands: being killed halfway loses nothing.
			if held, err := c.join(t.name, append(c.own(v), t)); held || err != nil {
				return nil, err
			}
			continue
		case c.lives(t):
			return []record{t}, nil
		}
		// free, or left by a dead process: names that will not come again, so that this rename cannot take
		// from anybody who got the token since the look.
		if _, err := c.move(t.name, c.busy); err != nil {
			return nil, err
		}
	}
}

// enter is what the one who has the token does with it. Neither held nor wait nor an error: the token was taken from
// us, by somebody who thought us dead.
func (c *call) enter(v view) (held bool, wait []record, err error) {
	var own []record
	sampled := c.sample(len(v.holders))
	for i, r := range v.holders {
		excludes := c.excludes(r)
		switch {
		case c.ours(r.owner):
			own = append(own, r)
		case !excludes && !sampled(i):
		case !c.lives(r):
			if err := c.remove(r); err != nil {
				return false, nil, err
			}
		case excludes:
			wait = append(wait, r)
		}
	}
	if limit := c.limit(); len(wait) >= limit {
		// As with flock(2), an upgrade that has to wait loses what it had: two that kept it would wait for each
		// other for ever.
		if err := c.remove(own...); err != nil {
			return false, nil, err
		}
		_, err := c.move(c.busy, free)
		c.Wake(len(own) > 0)
		return false, wait[:limit], err
	}
	if c.request.Mode != Exclusive {
		held, err = c.join(c.busy, own)
		return held, nil, err
	}
	if held, err = c.move(c.busy, newRecord(kindExcl, c.ownerAfter(own)).name); held {
		err = c.remove(own...)
	}
	return held, nil, err
}

// join sets our record beside the token and frees the token. Only the second makes the record count: when the token
// is not there any more, the record goes again. It is a new record, whatever we have already: somebody may take the
// owner for gone, and be about to remove the old one.
func (c *call) join(token string, own []record) (held bool, err error) {
	mine := newRecord(kindOf(c.request.Mode), c.ownerAfter(own))
	if err := c.Create(mine.name); err != nil {
		return false, err
	}
	held, err = c.move(token, free)
	if !held {
		if e := c.remove(mine); err == nil {
			err = e
		}
		return false, err
	}
	var old []record
	for _, r := range own {
		if r.name != token && r.name != mine.name {
			old = append(old, r)
		}
	}
	err = c.remove(old...)
	c.Wake(len(own) > 0)
	return true, err
}

// ownerAfter returns the owner for a new record. A conversion keeps the owner of what it converts, which may be an ancestor
// that the lock would otherwise not outlive us with.
func (c *call) ownerAfter(own []record) Owner {
	if len(own) == 0 {
		return c.owner
	}
	o := own[0].owner
	o.nonce = c.owner.nonce
	return o
}

func (c *call) own(v view) (own []record) {
	for _, r := range v.holders {
		if c.ours(r.owner) {
			own = append(own, r)
		}
	}
	return own
}

// excludes reports whether a living record of somebody else's counts against the request, and limit how many of those
// it takes to refuse it.
func (c *call) excludes(r record) bool {
	switch c.request.Mode {
	case Exclusive:
		return true
	case Permit:
		return r.kind == kindPermit
	}
	return false
}

func (c *call) limit() int {
	if c.request.Mode == Permit {
		return c.request.Permits
	}
	return 1
}

// obstacles returns living holders that keep us out while each of them stands, or nil.
func (c *call) obstacles(v view) (wait []record) {
	for _, r := range v.holders {
		if c.excludes(r) && !c.ours(r.owner) && c.lives(r) {
			if wait = append(wait, r); len(wait) == c.limit() {
				return wait
			}
		}
	}
	return nil
}

// release gives up all that is ours.
func (c *call) release() error {
	freed := false
	defer func() {
		if freed {
			c.Wake(true)
		}
	}()
	for {
		v, err := c.look()
		if err != nil {
			return err
		}
		own := c.own(v)
		freed = freed || len(own) > 0
		if err := c.remove(own...); err != nil {
			return err
		}
		if v.token.kind != kindExcl || !c.ours(v.token.owner) {
			return nil
		}
		if held, err := c.move(v.token.name, free); held || err != nil {
			freed = freed || held
			return err
		}
	}
}

// sampleSize is how many records that do not matter to it a call judges, lest those of the dead pile up. Were it all, the
// work of many shared holders would grow with the square of their number.
const sampleSize = 4

// sample returns which of n records to judge of those that do not matter.
func (c *call) sample(n int) func(i int) bool {
	if n <= sampleSize {
		return func(int) bool { return true }
	}
	first := rand.N(n)
	return func(i int) bool { return (i-first+n)%n < sampleSize }
}

// sweep removes what process pid left, and some of what other dead owners did. It needs no token for that: their names
// cannot come again.
func (c *call) sweep(pid int) error {
	freed := false
	defer func() {
		if freed {
			c.Wake(true)
		}
	}()
	for {
		v, err := c.look()
		if err != nil {
			return err
		}
		sampled := c.sample(len(v.holders))
		for i, r := range v.holders {
			if (r.owner.PID == pid || sampled(i)) && !c.lives(r) {
				freed = true
				if err := c.remove(r); err != nil {
					return err
				}
			}
		}
		if v.token.kind == kindFree || c.lives(v.token) {
			return nil
		}
		if swept, err := c.move(v.token.name, free); swept || err != nil {
			freed = freed || swept
			return err
		}
	}
}
