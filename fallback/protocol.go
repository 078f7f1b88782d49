package fallback

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/flock/internal/openfile"
)

// A call is one lock or unlock operation: the moves of the protocol, see doc.go.
//
// A busy token names the process that carries out the moves; the other records name the owner of the lock, who may be
// another one. Were the busy token to name the shell for which flock(1) locks a descriptor, a flock that is killed between
// two moves would leave a token that looks alive for as long as the shell runs.
type call struct {
	storage
	system
	lock *Lock
	Request
	actor  owner     // this process
	busy   string    // the token while this call has it
	mine   owner     // for the record that this call makes
	file   string    // identity of the locked file, as it is now
	listed snapshot  // by the last look
	state  *stateDir // nil in the test that runs every interleaving, as is line
	line   *line
	// wake wakes those who wait, as the lock may be free for one: those who were listed, or with anew all that there are now.
	wake func(anew bool)
	// Waiters of other machines that were there before us, and since when we have let one go first; see elder.
	elders   []string
	yielding time.Time
	noYield  bool
	// The record that keeps us out, and since when.
	blocker   string
	since     time.Time
	confirmed bool // that it does, at a second look
	// inDoubt says that something could not be seen, and a record counted as held because of that.
	inDoubt    bool
	deferred   bool // because the search was left to others who wait
	mustSearch bool // that may not be: they have had their time
	isLocal    bool // whether the directory is on this machine, so that a listing is surely current
	slipped    bool // slip was tried: twice, and two that see each other's names could go on so for ever
}

// newCall returns a call for a lock. actor is this process.
func newCall(l *Lock, r Request, actor owner, st storage, sy system) *call {
	c := &call{storage: st, system: sy, lock: l, Request: r, actor: actor, mine: l.owner.renewed()}
	c.renewBusy()
	c.file = l.owner.file
	if l.file.fd < 0 {
		c.file = openfile.IdentityOf(l.path)
	}
	return c
}

// renewBusy makes a new name for the busy token.
func (c *call) renewBusy() { c.busy = newRecord(busy, c.actor.renewed()).name }

// How often a listing without exactly one token is looked at again before it is believed.
const looks = 12

// look lists the directory until it makes sense. What was in doubt about an earlier listing is over.
func (c *call) look() (snapshot, error) {
	c.inDoubt, c.deferred = false, false
	last := ""
	for n, pause := 0, time.Millisecond; ; n++ {
		names, err := c.List()
		if err != nil {
			return snapshot{}, err
		}
		s, complaint := parse(names)
		if complaint == "" {
			c.listed = s
			return s, nil
		}
		if complaint != last {
			n, last = 0, complaint
		}
		if n == looks {
			complaint = strings.Replace(complaint, c.busy, free, 1) // free until we came, and again when we are gone
			return s, stateError(complaint + "; when nobody uses the lock, remove the directory")
		}
		c.Sleep(pause)
		pause = min(2*pause, 50*time.Millisecond)
	}
}

// move renames and reports whether that can have been our doing. That the name was not there is no error: somebody
// else was faster; or, over NFS, it is the second answer to a request that was carried out and whose first answer got
// lost. Nobody decides by the difference: the next look shows which name stands.
func (c *call) move(old, new string) (bool, error) {
	err := c.Rename(old, new)
	return err == nil, ignoreAbsent(err)
}

func (c *call) remove(rs ...record) error {
	for _, r := range rs {
		if err := ignoreAbsent(c.Remove(r.name)); err != nil {
			return err
		}
	}
	return nil
}

// attempt goes through the moves until the lock is ours (nil, nil) or held by others. Then it returns records; while all of
// them stand, the lock cannot be had.
func (c *call) attempt() (wait []record, err error) {
	for n := 0; ; n++ {
		if n > 20 { // on a filesystem that shows old listings: at least do not spin
			c.Sleep(time.Millisecond)
		}
		if done, err := c.slip(); done || err != nil {
			return nil, err
		}
		s, err := c.look()
		if err != nil {
			c.move(c.busy, free)
			return nil, err
		}
		t := s.token
		hasToken := t.name == c.busy
		switch {
		case hasToken:
		case t.word == free:
			if wait := c.reached(s); wait != nil {
				return wait, nil
			}
			if c.canSlip() { // it has become free since
				continue
			}
		default:
			js, isCurrent := c.judgeCurrent(s, []record{t}, 0)
			if !isCurrent {
				continue
			}
			switch j := js[0]; {
			case j.verdict == ours && t.word == excl:
				if done, err := c.convert(s, j.record); done || err != nil {
					return nil, err
				}
				continue
			case j.verdict != gone:
				return []record{c.follow(j)}, nil
			}
		}
		if !hasToken {
			// free, or left by a dead process: names that will not come again, so that this rename cannot take from anybody
			// who got the token since the look. And what was seen with such a name is still so: nobody has had the token.
			moved, err := c.move(t.name, c.busy)
			if err != nil {
				return nil, err
			}
			if !moved || t.word == free {
				continue
			}
			s.token = record{word: busy, name: c.busy}
		}
		done, wait, err := c.enter(s)
		if err != nil {
			c.move(c.busy, free)
		}
		if done || wait != nil || err != nil {
			return wait, err
		}
	}
}

// slip takes a shared lock without the token: if that is free when our record stands, whoever takes it then sees the record.
func (c *call) slip() (done bool, err error) {
	if !c.canSlip() {
		return false, nil
	}
	if isFree, err := c.Exists(free); !isFree || err != nil {
		return false, err
	}
	c.slipped = true
	c.mine.mark = c.mark(nil)
	mine := newRecord(shared, c.mine)
	err = c.Create(mine.name)
	if err == nil {
		var s snapshot
		if s, err = c.look(); err == nil && s.token.word == free && c.elder(s) == nil && !c.isUntidy(s, mine) {
			c.wake(false)
			return true, nil
		}
		err = cmp.Or(err, c.remove(mine))
		c.wake(true)
	}
	c.Clear(c.mine.mark)
	return false, err
}

// canSlip reports whether slip is to be tried. Nobody else may have our open file, as it is marked without the token. And
// what is listed must be so: a network filesystem could show a token that is not free any more.
func (c *call) canSlip() bool {
	return c.Mode == Shared && c.isLocal && !c.slipped && !c.mayHave() && !c.lock.file.inherited
}

// isUntidy reports whether enter is to find out about other records: that which is listed after mine if its process is dead,
// and those at the descriptor of mine.
func (c *call) isUntidy(s snapshot, mine record) bool {
	for i, r := range s.holders {
		switch {
		case r.name != mine.name && r.isAt(mine.owner.descriptor()):
			return true
		case r.name == mine.name && i+1 < len(s.holders) && c.isLeft(s.holders[i+1]):
			return true
		}
	}
	return false
}

// isLeft reports whether a process has ended and left its record: a short run may have removed it since it was listed.
func (c *call) isLeft(r record) bool {
	if c.Fate(r.owner) != dead {
		return false
	}
	stands, err := c.Exists(r.name)
	return stands || err != nil
}

// convert makes another lock of the exclusive one that is ours.
func (c *call) convert(s snapshot, token record) (done bool, err error) {
	if c.Mode != Exclusive {
		// The exclusive token stays until the new record stands: being killed halfway loses nothing.
		own, _, _ := c.own(s)
		return c.join(token.name, own, token.owner.mark)
	}
	// By a new name: somebody may take the owner for gone, and be about to steal the old one.
	c.mine.mark = token.owner.mark
	renewed := newRecord(excl, c.mine).name
	if token.name == renewed { // the answer to the rename got lost
		return true, nil
	}
	return c.move(token.name, renewed)
}

// follow returns the record under the name that says where its open file was found, so that others need not search. A number
// that a shell uses for a while gets into the name only if another open file is to be locked under the old one.
func (c *call) follow(j judged) record {
	if j.moved == nil {
		return j.record
	}
	to := *j.moved
	isReplaced := to.pid == j.owner.pid && j.isAt(c.mine.descriptor()) && !c.mayHave()
	if to.number > openfile.LastOfUser && !isReplaced {
		to.number = j.owner.number
	}
	if j.isGuess || to == j.owner.descriptor() { // there is where to wait for it, under the old name
		j.owner.pid, j.owner.number = j.moved.pid, j.moved.number
		return j.record
	}
	o, err := c.Owner(j.moved.pid)
	if err != nil {
		return j.record
	}
	o.number, o.mark, o.file = to.number, j.owner.mark, j.owner.file
	r := newRecord(j.word, o.renewed())
	if moved, err := c.move(j.name, r.name); !moved || err != nil {
		return j.record
	}
	return r
}

// enter is called with the token. If it returns none of the three, the snapshot is outdated, or the token was taken from us,
// by somebody who thought us dead.
func (c *call) enter(s snapshot) (done bool, wait []record, err error) {
	own, others, dead, isCurrent := c.sort(s)
	if !isCurrent {
		return false, nil, nil
	}
	if err := c.remove(dead...); err != nil {
		return false, nil, err
	}
	var all []record
	for _, j := range others {
		r := c.follow(j)
		all = append(all, r)
		if c.excludes(r) {
			wait = append(wait, r)
		}
	}
	if len(all) > 0 && len(own) == 0 && c.mayHave() && c.isPassing(all, stuck) {
		_, err := c.move(c.busy, free) // one of them may be ours, and to look again tells
		return false, all, err
	}
	limit := c.limit()
	if elder := c.elder(s); elder != nil {
		wait, limit = elder, len(elder)
	}
	had := c.orGuesses(own, others)
	if len(wait) >= limit {
		// As with flock(2), an upgrade that has to wait loses what it had: two that kept it would wait for each
		// other for ever.
		c.unmark(had)
		if err := c.remove(own...); err != nil {
			return false, nil, err
		}
		_, err := c.move(c.busy, free)
		if len(had)+len(dead) > 0 { // else two waiters would wake each other for ever
			c.wake(len(had) > 0)
		}
		return false, wait[:limit], err
	}
	mark := c.mark(had)
	if c.Mode != Exclusive {
		if done, err = c.join(c.busy, own, mark); err != nil && len(own) == 0 {
			c.Clear(mark)
		}
		return done, nil, err
	}
	c.mine.mark = mark
	if done, err = c.move(c.busy, newRecord(excl, c.mine).name); done {
		err = c.remove(own...)
	}
	return done, nil, err
}

// join sets our record beside the token and frees the token. Only the second makes the record count: when the token
// is not there any more, the record goes again. It is a new record, whatever we have already: somebody may take the
// owner for gone, and be about to remove the old one.
func (c *call) join(token string, own []record, mark openfile.Mark) (done bool, err error) {
	c.mine.mark = mark
	mine := newRecord(wordOf(c.Mode), c.mine)
	if err := c.Create(mine.name); err != nil {
		return false, err
	}
	done, err = c.move(token, free)
	if !done {
		return false, cmp.Or(err, c.remove(mine))
	}
	old := slices.DeleteFunc(slices.Clone(own), func(r record) bool { return r.name == token || r.name == mine.name })
	err = c.remove(old...)
	c.wake(len(own) > 0)
	return true, err
}

// mark marks our open file, if the lock belongs to one. Its flags may be read, changed and written only by the one who has
// the busy token, since others can have the same open file, or by slip, where nobody else has it.
func (c *call) mark(own []record) openfile.Mark {
	if !c.lock.file.marked {
		return openfile.None
	}
	for _, r := range own {
		if c.Has(r.owner.mark) {
			return r.owner.mark
		}
	}
	return c.Set()
}

// orGuesses returns our records own or, if there is none, those of which one may be ours. An open file without a mark has no
// record. So clearing the mark gives up the lock even if its record is not known: the records that are left are the others'.
func (c *call) orGuesses(own []record, js []judged) []record {
	if len(own) > 0 || !c.lock.file.marked || !c.mayHave() {
		return own
	}
	for _, j := range js {
		if j.isGuess {
			own = append(own, j.record)
		}
	}
	return own
}

// unmark removes the marks of our records from our open file.
func (c *call) unmark(own []record) {
	for _, r := range own {
		if r.owner.mark != openfile.None {
			c.Clear(r.owner.mark)
		}
	}
}

// mayHave reports whether a record may be ours.
func (c *call) mayHave() bool {
	l := c.lock
	switch {
	case len(l.nonces) > 1:
		return true
	case l.file.marked:
		return l.file.inherited && (c.Has(openfile.NoAtime) || c.Has(openfile.NonBlock))
	}
	return !l.ofSelf
}

// excludes reports whether a living record of somebody else's counts against the request, and limit how many of those
// it takes to refuse it.
func (c *call) excludes(r record) bool {
	switch c.Mode {
	case Exclusive:
		return true
	case Permit:
		return r.word == permit
	}
	return false
}

func (c *call) limit() int {
	if c.Mode == Permit {
		return c.Permits
	}
	return 1
}

// reached returns holders that keep us out while each of them stands, nil if there may be too few of them, or one may be
// ours. It is called while the token is free: a contender that is kept out does not take it.
func (c *call) reached(s snapshot) (wait []record) {
	limit, mayHave := c.limit(), c.mayHave()
	if c.Mode == Shared || len(s.holders) < limit || mayHave && c.lock.file.marked {
		return nil
	}
	enough := limit
	if mayHave {
		enough = 0
	}
	js, _ := c.glanceAt(s.holders, enough)
	for _, j := range js {
		switch {
		case mayHave && (j.verdict == ours || j.verdict == undecided):
			return nil
		case j.verdict == held && c.excludes(j.record):
			wait = append(wait, j.record)
		}
	}
	if len(wait) < limit {
		return nil
	}
	return wait
}

// sort judges the holders beside the token: all of them if one may be ours, otherwise those that count, and one of the
// others, so that records of the dead do not pile up.
func (c *call) sort(s snapshot) (own []record, others []judged, dead []record, isCurrent bool) {
	var rs []record
	odd := -1
	if len(s.holders) > 0 {
		h := fnv.New32a()
		h.Write([]byte(c.busy)) // which has a random part, except in the test that runs every interleaving
		odd = int(h.Sum32() % uint32(len(s.holders)))
	}
	mayHave, enough := c.mayHave(), c.limit()
	if mayHave {
		enough = 0
	}
	for i, r := range s.holders {
		if mayHave || i == odd || c.excludes(r) || r.isAt(c.mine.descriptor()) {
			rs = append(rs, r)
		}
	}
	js, isCurrent := c.judgeCurrent(s, rs, enough)
	for _, j := range js {
		switch j.verdict {
		case ours:
			own = append(own, j.record)
		case held:
			others = append(others, j)
		case gone:
			if !j.isGuess {
				dead = append(dead, j.record)
			}
		}
	}
	return own, others, dead, isCurrent
}

// release gives up all that is ours.
func (c *call) release() error {
	if c.lock.file.marked && !c.mayHave() {
		return nil
	}
	var given []record // what we had when we took the token
	for began := c.Now(); ; {
		s, err := c.look()
		if err != nil {
			return err
		}
		own, had, token := c.own(s)
		hasToken := s.token.name == c.busy
		if c.inDoubt && len(own) == 0 && !hasToken && c.Now().Sub(began) <= stuck {
			c.Sleep(shortestPause)
			continue
		}
		had = append(had, given...)
		// A flock that was killed before it had the lock has left its mark.
		isStale := len(had) == 0 && token == gone && c.lock.file.marked && c.Has(openfile.NoAtime)
		if len(own) == 0 && len(given) == 0 && !hasToken && !isStale {
			if err := c.concealed(s); err != nil || len(had) == 0 {
				return err
			}
		}
		switch {
		case hasToken, !c.lock.file.inherited, s.token.word == excl && token == held, c.Now().Sub(began) > stuck:
			if isStale {
				c.Clear(openfile.NoAtime)
			}
			done, err := c.drop(s.token, own, had)
			if done || err != nil {
				return err
			}
		case token == held: // by somebody who is taking or releasing the lock
			c.Sleep(shortestPause)
		default:
			if _, err := c.move(s.token.name, c.busy); err != nil {
				return err
			}
			given = append(given, own...)
		}
	}
}

// concealed returns an error if our open file has a mark and its record may be one of which we cannot see whose it is: that
// of another user's process, of another pid namespace, or, without kcmp(2), of another user's file.
func (c *call) concealed(s snapshot) error {
	if !c.lock.file.marked {
		return nil
	}
	for _, r := range append([]record{s.token}, s.holders...) {
		o := r.owner
		if !c.Has(o.mark) || o.boot != here().boot {
			continue
		}
		held := "held by process " + strconv.Itoa(o.pid) + ", perhaps by this open file; "
		state := c.At(c.searchFor(o), o.descriptor())
		switch {
		case here().reach(o.machine) == unknown, state == openfile.Hidden:
			return stateError(held + "you may not inspect it")
		case state == openfile.Found && c.CompareOurs(c.searchFor(o), o.descriptor(), false) == openfile.Unknown:
			return stateError(held + "without kcmp(2) that cannot be known")
		}
	}
	return nil
}

// own returns the records that are ours, among them the exclusive token, or else in had those of which one may be ours, and
// the verdict on the token; that on a free one is gone.
func (c *call) own(s snapshot) (own, had []record, token verdict) {
	token = gone
	js := c.judge(s)
	for _, j := range js {
		if j.isToken() {
			token = j.verdict
		}
		if j.verdict == ours && j.word != busy {
			own = append(own, j.record)
		}
	}
	return own, c.orGuesses(own, js), token
}

// drop removes our records and the marks of what we had, and frees the token if it is ours. It reports whether that was all.
func (c *call) drop(token record, own, had []record) (done bool, err error) {
	c.unmark(had)
	done = true
	for _, r := range own {
		if r.isToken() {
			done, err = c.move(r.name, free)
		} else {
			err = c.remove(r)
		}
		if err != nil {
			return false, err
		}
	}
	if token.name == c.busy {
		_, err = c.move(c.busy, free)
	}
	c.wake(true)
	return done, err
}
