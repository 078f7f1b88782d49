package fallback

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// enter takes the token and, if nobody keeps us out, the lock.
func (c *contender) enter() (entered bool, keepers []record, err error) {
	if err := c.come(); err != nil {
		return false, nil, err
	}
	token, keepers, err := c.take()
	if token == "" || err != nil {
		return false, keepers, err
	}
	name, keepers, err := c.settle(token)
	// That this succeeds is the acquisition. Otherwise somebody has taken us for dead.
	freed := c.Rename(token, free)
	switch {
	case name == "" || err != nil:
		return false, keepers, err
	case freed == nil:
		return true, nil, nil
	case !isAbsent(freed):
		err = freed
	}
	c.withdraw(name)
	return false, nil, err
}

// settle does what needs the token: it removes the dead and, if nobody keeps us out, makes our record, whose name it returns.
func (c *contender) settle(token string) (name string, keepers []record, err error) {
	s, err := c.look()
	if err != nil {
		return "", nil, err
	}
	if len(s.tokens) != 1 || s.tokens[0] != token {
		return "", nil, stateError("it has more than one token: " + strings.Join(s.tokens, " and ") + removeIt)
	}
	if c.self.name == "" { // a cleaner of old files has removed it
		return "", nil, nil
	}
	if err := c.clean(&s); err != nil {
		return "", nil, err
	}
	if keepers = c.keepers(s); keepers != nil {
		if c.maySearch(&s) {
			keepers = nil // a holder has gone since we searched: search again
		}
		return "", keepers, nil
	}
	if c.fd >= 0 {
		name, err = c.markFile(&s)
	} else {
		name, err = c.hold()
	}
	if err == nil && name != "" && c.Mode != Exclusive {
		behind := wait + "," + c.self.id
		if s.hasVerdict(ours) { // a downgrade lets in who has come before it
			behind = ""
		}
		c.ring(s.waiters, behind, true)
	}
	return name, nil, err
}

// take takes the token, and returns the name that it has then. If somebody else keeps it for long, that one is returned.
func (c *contender) take() (token string, keepers []record, err error) {
	token = busy + "," + c.self.id
	pause := shortestRetry
	for seen, since := free, c.Now(); ; {
		err := c.Rename(free, token)
		if err == nil {
			c.Touch(token)
			return token, nil, nil
		}
		if !isAbsent(err) {
			return "", nil, err
		}
		s, err := c.list()
		if err != nil || c.self.name == "" {
			return "", nil, err
		}
		if slices.Contains(s.tokens, token) { // NFS has carried out the rename
			return token, nil, nil
		}
		now := strings.Join(s.tokens, " ")
		if now == free {
			continue
		}
		if now != seen {
			seen, since = now, c.Now()
		}
		r, isBusy := parseRecord(now)
		isBusy = isBusy && r.mode == Busy && len(s.tokens) == 1
		if isBusy {
			if stolen, err := c.steal(&s, r, token); stolen || err != nil {
				return token, nil, err
			}
		}
		isStuck := c.Now().Sub(since) >= stuck
		switch {
		case isStuck && now == "":
			return "", nil, errNoToken
		case isStuck && isBusy && s.nameOf(r.id) == "":
			return "", nil, stateError("the owner of its token " + now + " is gone" + removeIt)
		case isBusy && (isStuck || !c.Try && c.isOver()):
			return "", []record{r}, nil
		}
		if now == "" || pause == longestRetry { // it may be another directory by now
			if err := c.Reopen(); err != nil {
				return "", nil, err
			}
		}
		c.Sleep(pause)
		pause = min(2*pause, longestRetry)
	}
}

// steal takes over the token of somebody who has died with it. Its name goes to exactly one thief. Who died while it removed the
// directory has left another one at the path, or none: its token is not there.
func (c *contender) steal(s *snapshot, from record, token string) (bool, error) {
	name := s.nameOf(from.id)
	if name == "" || c.fate(name) != gone || c.checkLifeline() != nil {
		return false, nil
	}
	if err := c.Reopen(); err != nil {
		return false, err
	}
	if c.Rename(from.name, token) != nil {
		return false, nil
	}
	c.Touch(token)
	return true, nil
}

// enoughWaiters is how many living waiters it takes to look no further for dead ones: there may be hundreds.
const enoughWaiters = 4

// clean removes what the dead have left, and writes down where a search has found an open file.
func (c *contender) clean(s *snapshot) error {
	dead := c.dead
	living := 0
	for _, name := range slices.Concat(s.newborn, s.waiters) {
		switch {
		case name == c.self.name, living == enoughWaiters:
		case c.fate(name) == gone:
			dead = append(dead, name)
		case strings.HasPrefix(name, wait):
			living++
		}
	}
	for _, r := range s.holders {
		if r.verdict == over {
			dead = append(dead, r.name)
		}
	}
	if err := c.checkLifeline(); err != nil {
		return err
	}
	for _, name := range dead {
		if err := c.Remove(name); ignoreAbsent(err) != nil {
			return err
		}
	}
	c.dead = nil
	for i, r := range s.holders {
		if r.verdict == held && r.moved != nil {
			s.holders[i].name = recordName(r.mode, r.id, r.moved)
			if err := c.Rename(r.name, s.holders[i].name); ignoreAbsent(err) != nil {
				return err
			}
		}
	}
	return nil
}

// hold makes our lifeline a holder. The name is "" if it is not there any more.
func (c *contender) hold() (string, error) {
	name := recordName(c.Mode, c.self.id, nil)
	if name == c.self.name {
		return name, nil
	}
	if err := c.move(c.self.name, name); err != nil {
		return "", ignoreAbsent(err)
	}
	c.self.name = name
	return name, nil
}

// draw returns a random number below n. The test that runs every interleaving replaces it.
var draw = rand.N[int]

// lastSignal is the highest number that an open file can have to know its record by: of the 64 qemu-user has no more.
const lastSignal = 62

// markFile makes the record of our open file, and marks it. The record comes before the mark: a flock that is killed in between
// leaves a record without a mark, which is dead, and never a mark that another record could take for its own.
func (c *contender) markFile(s *snapshot) (string, error) {
	p, err := c.Place()
	if err != nil {
		return "", err
	}
	f := openFile{place: p, inode: c.Inode()}
	had, err := c.choose(s, &f)
	if err != nil {
		return "", err
	}
	name := recordName(c.Mode, c.self.id, &f)
	if had != nil {
		for _, more := range had[1:] {
			c.Remove(more)
		}
		if err := c.move(had[0], name); err != nil {
			return "", ignoreAbsent(err) // another process that has our open file has just unlocked it
		}
		return name, nil
	}
	for {
		if err := c.Make(name); err != nil {
			return "", err
		}
		err := c.Mark(f.signal, f.mark)
		if err == nil {
			return name, nil
		}
		c.Remove(name)
		if f.mark == nonBlock {
			return "", err
		}
		f.mark = nonBlock // it is the file of somebody else
		name = recordName(c.Mode, c.self.id, &f)
	}
}

// choose gives f the mark and the signal that our open file has from our records, which it returns, or new ones: a signal that no
// holder has, and the other mark if its process has an open file with the first one.
func (c *contender) choose(s *snapshot, f *openFile) (had []string, err error) {
	f.mark = noAtime
	used := [lastSignal + 1]bool{}
	for _, r := range s.holders {
		switch {
		case r.file == nil || r.verdict == over:
		case r.verdict == ours:
			f.mark, f.signal = r.file.mark, r.file.signal
			had = append(had, r.name)
		default:
			used[min(r.file.signal, lastSignal)] = true
			if had == nil && r.file.pid == f.pid && r.file.mark == noAtime {
				f.mark = nonBlock
			}
		}
	}
	for n := draw(lastSignal); had == nil; n++ {
		f.signal = n%lastSignal + 1
		if !used[f.signal] {
			break
		}
		if n > 2*lastSignal {
			return nil, stateError("62 open files have the lock, which is as many as it can have")
		}
	}
	return had, nil
}

// withdraw takes back the record that we have made.
func (c *contender) withdraw(name string) {
	if c.fd < 0 {
		c.leave()
		return
	}
	if r, ok := parseRecord(name); ok {
		c.Unmark(r.file.mark)
	}
	c.Remove(name)
}

// discard releases the lock and, if nobody else is there, removes the state directory: it is moved away while we have the token,
// which nobody can steal there.
func (c *contender) discard() error {
	c.Try = true
	token, _, err := c.take()
	if token == "" || err != nil {
		return c.release()
	}
	if s, err := c.list(); err == nil && len(s.lifelines) == 1 && len(s.holders) == 1 && c.MoveAway() == nil {
		c.forget()
		return nil
	}
	c.Rename(token, free)
	return c.release()
}
