package fallback

import (
	"slices"
	"strings"
)

// list lists the state directory. If the name of our lifeline is gone, because a cleaner of old files has removed it or
// the whole directory, it forgets the lifeline.
func (a *attempt) list() (snapshot, error) {
	names, err := a.List()
	if err != nil {
		return snapshot{}, err
	}
	if name := a.self.name; name != "" && !slices.Contains(names, name) && a.Ask(name) == noName {
		a.forget()
	}
	return parse(names)
}

// come makes the lifeline of this contender, which is its bell as well, unless it has one. If it has not come although
// there is no error, the attempt has to look again.
func (a *attempt) come() (hasCome bool, err error) {
	if a.self.name == "" {
		err = a.makeLifeline()
	}
	if isAbsent(err) { // it was taken for dead before it was open, or the directory is gone
		return false, a.Reopen(true)
	}
	return err == nil, err
}

// makeLifeline makes a lifeline under a name that nobody takes for a waiter's, opens it, and renames it.
func (a *attempt) makeLifeline() error {
	id := newID(ownPID, ownStart(), a.Now(), a.Machine())
	name := newName + "," + id
	if err := a.Make(name); err != nil {
		return err
	}
	life, err := a.OpenLifeline(name)
	if err != nil {
		return err
	}
	waiter := waiterName(id, a.request.Mode)
	if err := a.move(name, waiter); err != nil {
		a.CloseLifeline(life)
		return err
	}
	*a.self = namedLifeline{id: id, name: waiter, lifeline: life}
	return nil
}

// move renames. Over NFS a rename can be carried out and answer ENOENT.
func (a *attempt) move(old, new string) error {
	err := a.Rename(old, new)
	if !isAbsent(err) {
		return err
	}
	names, failed := a.List()
	switch {
	case failed != nil:
		return failed
	case slices.Contains(names, new):
		return nil
	}
	return err
}

// forget closes the lifeline of this contender. A name that it still has is then that of a dead one, for others to
// remove.
func (a *attempt) forget() {
	if *a.self != (namedLifeline{}) {
		a.CloseLifeline(a.self.lifeline)
		*a.self = namedLifeline{}
	}
}

// leave removes what stands for this contender.
func (a *attempt) leave() {
	if a.self.name != "" {
		a.Remove(a.self.name)
	}
	a.forget()
}

// isOurs reports whether a record is that of our lifeline or open file: then we hold the lock already.
func (a *attempt) isOurs(r record) bool {
	if a.isFile {
		return r.file != nil && a.Machine().relation(r.owner.machine) == askable && a.Marked(r.file)
	}
	return r.id == a.self.id
}

// release gives up what the Lock holds. If others have inherited the lifeline, the lock is theirs.
func (a *attempt) release() error {
	if !a.isFile {
		closed := *a.self
		a.forget()
		if closed.name == "" { // a cleaner of old files has removed it
			return nil
		}
		return a.removeIfUnread(closed)
	}
	s, err := a.list()
	if err == nil && !slices.ContainsFunc(s.holders, a.isOurs) {
		s, err = a.list() // the first may have missed a name that was renamed meanwhile
	}
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(s.holders, a.isOurs) {
		a.Unmark() // a cleaner of old files has removed the record, and the mark may come to fit another one
		return nil
	}
	return a.giveUp(&s)
}

// removeIfUnread removes the name of a lifeline that we have closed, if nobody else has the lifeline.
func (a *attempt) removeIfUnread(closed namedLifeline) error {
	if a.Ask(closed.name) != noReader {
		return nil
	}
	if err := a.Remove(closed.name); err != nil {
		return err
	}
	if tellsEnd && strings.HasPrefix(closed.name, exclName) {
		return nil // the first waiter watches it
	}
	if s, err := a.list(); err == nil {
		a.ringFirst(s.waiters)
	}
	return nil
}

// giveUp gives up what we hold, without the token, as an unlock and an upgrade that has to wait do.
func (a *attempt) giveUp(s *snapshot) error {
	had := false
	for _, r := range s.holders {
		if !a.isOurs(r) {
			continue
		}
		had = true
		if err := a.giveUpRecord(r); ignoreAbsent(err) != nil {
			return err
		}
	}
	if had {
		a.ringFirst(s.waiters)
	}
	return nil
}

// giveUpRecord takes what has the lock out of the holders. It makes no name where there is none, so that it works on a
// full filesystem.
func (a *attempt) giveUpRecord(r record) error {
	if a.isFile {
		a.Unmark() // first: a mark without a record could come to fit another one
		return a.Remove(r.name)
	}
	waiter := waiterName(a.self.id, a.request.Mode)
	err := a.move(r.name, waiter)
	if err == nil {
		a.self.name = waiter
	}
	return err
}

// ringFirst wakes the first of these waiters that is not this contender, and the first that may share the lock: that one
// can use a permit that is free, although an exclusive waiter before it cannot.
func (a *attempt) ringFirst(waiters []string) {
	i := slices.IndexFunc(waiters, func(name string) bool { return idOf(name) != a.self.id })
	if i >= 0 {
		a.Ring(waiters[i])
		a.ringSharer(waiters[i:], "")
	}
}

// ringSharer wakes the first waiter behind an ID that may share the lock.
func (a *attempt) ringSharer(waiters []string, after string) {
	for _, name := range waiters {
		if name > waitName+","+after && idOf(name) != a.self.id && !strings.HasSuffix(name, "@"+exclName) {
			a.Ring(name)
			break
		}
	}
}
