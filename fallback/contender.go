package fallback

import (
	"slices"
	"strings"
	"time"
)

// A contender is one call: who wants what of which lock, and what it has learnt.
type contender struct {
	system
	*Lock
	Request
	here machine

	found    map[string]*openFile // by record: where a search has found its open file, nil: nowhere
	keeper   string               // the first record that kept us out, and since when
	since    time.Time
	timedOut bool     // nothing has happened in the last wait, and this one shall search
	dead     []string // waiters before us, which are to be removed
	told     bool     // that the wait is long
	began    time.Time
}

func newContender(s system, l *Lock, r Request) *contender {
	return &contender{system: s, Lock: l, Request: r, here: s.Machine(), found: map[string]*openFile{}, began: s.Now()}
}

// isOver reports whether there is no more time for who is kept out.
func (c *contender) isOver() bool {
	return c.Try || !c.Deadline.IsZero() && !c.Now().Before(c.Deadline)
}

// list lists the state directory, and notices if our lifeline has lost its name: a cleaner of old files has removed it, or the
// whole directory is gone.
func (c *contender) list() (snapshot, error) {
	names, err := c.List()
	if err != nil {
		return snapshot{}, err
	}
	if c.self.name != "" && !slices.Contains(names, c.self.name) && c.Ask(c.self.name) == absent {
		c.forget()
	}
	return parse(names)
}

// isOurs reports whether a record is ours: the lifeline is, or our open file has the mark and the signal that it says.
func (c *contender) isOurs(r record) bool {
	if r.file == nil {
		return r.id == c.self.id
	}
	return c.fd >= 0 && c.here.reach(r.owner.machine) == here && c.Marked(r.file)
}

// fate says whether anybody has a lifeline.
func (c *contender) fate(name string) answer {
	o, ok := parseOwner(idOf(name))
	if !ok {
		return absent
	}
	switch c.here.reach(o.machine) {
	case here:
		return c.Ask(name)
	case past:
		return gone
	}
	return unknown
}

// come makes the lifeline of this contender, which is its bell as well.
func (c *contender) come() error {
	for c.self.name == "" {
		err := c.comeOnce()
		if isAbsent(err) { // we were taken for dead, or the directory is gone
			err = c.Reopen()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// comeOnce makes a lifeline under a name that nobody takes for a waiter's, opens it, and renames it.
func (c *contender) comeOnce() error {
	id := newID(pid, c.Now(), c.here)
	name := newborn + "," + id
	if err := c.Make(name); err != nil {
		return err
	}
	life, err := c.OpenLifeline(name)
	if err == nil {
		c.self = contestant{id: id, life: life}
		if err = c.move(name, c.waiterName()); err == nil {
			c.self.name = c.waiterName()
			return nil
		}
		c.forget()
	}
	if !isAbsent(err) {
		c.Remove(name)
	}
	return err
}

// waiterName is the name of this contender while it waits.
func (c *contender) waiterName() string { return wait + "," + c.self.id + "@" + modeWords[c.Mode] }

// checkLifeline asks about our own lifeline as others do, after a listing: SMB shows only then that it has made a plain file. If
// ours does not answer, no lifeline does here.
func (c *contender) checkLifeline() error {
	if is := c.Ask(c.self.name); is == gone || is == strange {
		return errDeaf
	}
	return nil
}

// move renames. Over NFS a rename can be carried out and answer ENOENT.
func (c *contender) move(old, new string) error {
	err := c.Rename(old, new)
	if isAbsent(err) {
		if names, e := c.List(); e != nil || slices.Contains(names, new) {
			return e
		}
	}
	return err
}

// forget closes the lifeline of this contender, whose name is gone.
func (c *contender) forget() {
	c.CloseLifeline(c.self.life)
	c.self = contestant{}
}

// leave removes what stands for this contender.
func (c *contender) leave() {
	if c.self.name != "" {
		c.Remove(c.self.name)
		c.forget()
	}
}

// release gives up what the lock has. If others have inherited the lifeline, the lock is theirs.
func (c *contender) release() error {
	if c.fd >= 0 {
		s, err := c.list()
		if err != nil {
			return err
		}
		return c.giveUp(&s)
	}
	name := c.self.name
	if name == "" { // it is gone already
		return nil
	}
	c.forget()
	if c.Ask(name) != gone {
		return nil
	}
	err := c.Remove(name)
	if strings.HasPrefix(name, excl) {
		return err // the first waiter watches it
	}
	if s, err := c.list(); err == nil {
		c.ring(s.waiters, "", false)
	}
	return err
}

// giveUp gives up what we have without the token, as an unlock and an upgrade that has to wait do. The mark of an open file goes
// before its record, so that there is never a mark without a record. It works on a full filesystem.
func (c *contender) giveUp(s *snapshot) error {
	had := false
	for _, r := range s.holders {
		if !c.isOurs(r) {
			continue
		}
		had = true
		err := error(nil)
		if r.file != nil {
			c.Unmark(r.file.mark)
			err = c.Remove(r.name)
		} else {
			c.self.name = c.waiterName()
			err = c.Rename(r.name, c.self.name)
		}
		if ignoreAbsent(err) != nil {
			return err
		}
	}
	if had {
		c.ring(s.waiters, "", false)
	}
	return nil
}

// ring wakes the first of these waiters behind a name; toShare: the first that does not want the lock exclusively.
func (c *contender) ring(waiters []string, behind string, toShare bool) {
	for _, name := range waiters {
		if name > behind && idOf(name) != c.self.id && !(toShare && strings.HasSuffix(name, "@"+excl)) {
			c.Ring(name)
			return
		}
	}
}
