package fallback

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Only who has the token adds a holder or removes a dead one; who leaves removes its own name without it. This file
// takes the token, uses it, and gives it back.

const (
	// stuck is how long the token must stay the same to be a conflict or a fault, and stuckLooks how often that must
	// be seen: on a busy machine a process may look only twice in a second, and both times miss a name that is just
	// renamed.
	stuck      = time.Second
	stuckLooks = 10
	// Between two attempts to take the token the pause doubles. To look more often costs a busy machine more than it
	// gains: where 64 readers loop, a first pause of 50 µs took 17 % more processor time, and a longest one of 2 ms
	// halved the throughput.
	shortestRetry, longestRetry = 250 * time.Microsecond, 50 * time.Millisecond
)

// A progress says how far an attempt has come.
type progress uint8

const (
	done      progress = iota // it has done what it was to do
	keptOut                   // somebody keeps it out
	again                     // something has changed meanwhile: it has to look again
	cancelled                 // the context was cancelled
)

// Beside an error the progress means nothing.

// enter takes the lock, unless somebody keeps us out.
func (a *attempt) enter() (progress, []record, error) { return a.withToken(nil, a.hold) }

// tidy removes dead contenders, these among them, and writes down where searches have found open files. It returns who
// keeps us out then, if that is known.
func (a *attempt) tidy(dead []string) (progress, []record, error) {
	return a.withToken(dead, func(*snapshot) (progress, error) { return again, nil })
}

// withToken takes the token, removes dead contenders, these among them, calls act if nobody keeps us out, and frees the
// token. It returns what act says, or who keeps us out.
func (a *attempt) withToken(dead []string, act func(*snapshot) (progress, error)) (progress, []record, error) {
	if err := a.come(); err != nil {
		return again, nil, err
	}
	token := busy + "," + a.self.id
	how, keepers, err := a.take(token)
	switch {
	case err != nil: // it may be ours
		return again, nil, a.putBack(token, err)
	case how != done:
		return how, keepers, nil
	}
	how, keepers, err = a.cleanAndAct(token, dead, act)
	if err != nil {
		return again, nil, a.putBack(token, err)
	}
	if isFreed, err := a.freeToken(token); !isFreed {
		return again, nil, err
	}
	return how, keepers, nil
}

// cleanAndAct is what withToken does with the token, if that is still ours and our lifeline still has its name.
func (a *attempt) cleanAndAct(token string, dead []string, act func(*snapshot) (progress, error)) (
	progress, []record, error) {
	s, err := a.look()
	switch {
	case err != nil:
		return again, nil, err
	case a.self.name == "", !slices.Contains(s.tokens, token):
		return again, nil, nil
	case len(s.tokens) > 1: // at once: nobody renames the token while it is ours
		return again, nil, s.errToken()
	}
	if err := a.clean(&s, dead); err != nil {
		return again, nil, err
	}
	keepers := a.keepers(&s)
	switch {
	case len(keepers) == 0:
		how, err := act(&s)
		return how, nil, err
	case a.shallSearch(&s, false):
		return again, nil, nil // one has gone since we have searched, and the next look searches, without the token
	}
	return keptOut, keepers, nil
}

// freeToken frees the token. Only if that succeeds does what we have done with it count; otherwise we take it back.
func (a *attempt) freeToken(token string) (isFreed bool, err error) {
	err = a.Rename(token, free)
	switch {
	case err == nil:
		return true, nil
	case isAbsent(err): // somebody has taken us for dead, and has the token
		return false, a.withdraw()
	}
	a.withdraw() // while the token is ours, in case that can be done: what is returned is why the token was not freed
	return false, a.putBack(token, err)
}

// putBack frees the token, in case it is ours. failed is the error that came before, nil if there was none. It tries
// once, because that can fail, too. It returns its own error, after which the token may still be ours, and else failed.
// By that, Lock.end decides whether the name of our lifeline has to stay.
func (a *attempt) putBack(token string, failed error) error {
	if err := a.Rename(token, free); err != nil && !isAbsent(err) {
		return err
	}
	return failed
}

// withdraw takes back what we have just made.
func (a *attempt) withdraw() error {
	s, err := a.list()
	if err != nil {
		return err
	}
	return a.giveUp(&s)
}

// take renames the token to the name that it has while it is ours. If somebody else keeps it for long, that one keeps
// us out. The token is ours after done, and may be after an error.
func (a *attempt) take(token string) (progress, []record, error) {
	var sight sighting
	for pause := shortestRetry; ; pause = min(2*pause, longestRetry) {
		isTaken, s, err := a.takeFree(token)
		if err == nil && !isTaken {
			isTaken, err = a.steal(&s, token)
		}
		switch {
		case err != nil:
			return again, nil, err
		case isTaken:
			return done, nil, nil
		case a.self.name == "": // a cleaner has removed it, or the directory is another one
			return again, nil, nil
		}

		// Also who tries only once waits until it is certain that somebody keeps the token.
		isLong, broken, isBusy := sight.isLong(&s, a.Now()), s.errToken(), s.token() != ""
		switch {
		case isLong && broken != nil:
			return again, nil, broken
		case isLong, isBusy && a.isLate(): // somebody else has it, whose lifeline is there
			return keptOut, []record{a.tokenOwner(&s)}, nil
		}

		if !isBusy || pause == longestRetry { // it may be another directory by now
			if err := a.reopen(); err != nil {
				return again, nil, err
			}
			if a.self.name == "" { // it is
				return again, nil, nil
			}
		}
		a.Sleep(pause)
	}
}

// takeFree takes the token if nobody has it. Otherwise it returns a listing, in which it is not free.
func (a *attempt) takeFree(token string) (isTaken bool, s snapshot, err error) {
	for a.self.name != "" {
		err = a.Rename(free, token)
		if err == nil || !isAbsent(err) {
			return err == nil, s, err
		}
		s, err = a.list()
		switch {
		case err != nil:
			return false, s, err
		case slices.Contains(s.tokens, token): // NFS has carried out the rename
			return true, s, nil
		case s.token() != free:
			return false, s, nil
		}
	}
	return false, s, nil
}

// tokenOwner returns who has the token that a listing shows.
func (a *attempt) tokenOwner(s *snapshot) record {
	owner, _ := parseRecord(s.token())
	owner.verdict = a.judgeLifeline(s.lifelineOf(owner.id))
	return owner
}

// reopen opens what the path leads to now. If our lifeline is not there it forgets that: the token of somebody without
// a lifeline could never be taken over.
func (a *attempt) reopen() error {
	if err := a.Reopen(); err != nil {
		return err
	}
	if a.Ask(a.self.name) == absent {
		a.forget()
	}
	return nil
}

// A sighting is the token as somebody sees it who looks again and again.
type sighting struct {
	what  string
	since time.Time
	looks int
}

// isLong notes what is seen now, and reports whether that has been the same for long. The lifeline of the owner belongs
// to it: an owner whose lifeline gets another name is at work.
func (g *sighting) isLong(s *snapshot, now time.Time) bool {
	what := strings.Join(s.tokens, " ") + " " + s.lifelineOf(idOf(s.token()))
	if what != g.what || g.looks == 0 {
		*g = sighting{what: what, since: now}
	}
	g.looks++
	return g.looks >= stuckLooks && now.Sub(g.since) >= stuck
}

// errToken says what is wrong with the token, if it is seen so for long: it is not there, there are several, or its
// owner has lost its lifeline, so that nobody can ever take it over.
func (s *snapshot) errToken() error {
	owner := s.token()
	switch {
	case len(s.tokens) == 0:
		return errNoToken
	case len(s.tokens) > 1:
		return stateError("it has more than one token: " + strings.Join(s.tokens, " and ") + removeIt)
	case owner != free && s.lifelineOf(idOf(owner)) == "":
		return stateError("the owner of its token " + owner + " is gone" + removeIt)
	}
	return nil
}

// steal takes over the token of somebody who has died with it. Its name goes to exactly one thief.
func (a *attempt) steal(s *snapshot, token string) (isTaken bool, err error) {
	lifeline := s.lifelineOf(idOf(s.token()))
	switch {
	case lifeline == "", a.ask(lifeline) != gone:
		return false, nil
	case a.checkLifeline() != nil: // nobody's death can be believed: the token counts as kept
		return false, nil
	}
	// Who died while it removed the directory has left another one at the path, or none. Its token is not there.
	if err := a.reopen(); err != nil || a.self.name == "" {
		return false, err
	}
	err = a.Rename(s.token(), token)
	return err == nil, ignoreAbsent(err)
}

// checkLifeline asks about our own lifeline as others do, after a listing: SMB shows only then that it has made a plain
// file. If ours does not answer, no lifeline does here, and nobody's death can be believed.
func (a *attempt) checkLifeline() error {
	if is := a.Ask(a.self.name); is == gone || is == strange {
		return errDeaf
	}
	return nil
}

// enoughWaiters is how many living waiters it takes to look no further for dead ones: there may be hundreds.
const enoughWaiters = 4

// clean removes what the dead have left, and writes down where a search has found an open file. It needs the token.
// That somebody is dead is final, so the listing in which these were found may be an old one. Dead waiters go from the
// snapshot, too: one of the others may be rung.
func (a *attempt) clean(s *snapshot, dead []string) error {
	if err := a.checkLifeline(); err != nil {
		return err
	}
	dead = slices.Concat(dead, a.deadLifelines(s))
	for i, r := range s.holders {
		switch {
		case r.verdict == over:
			dead = append(dead, r.name)
		case r.moved != nil:
			s.holders[i].name = recordName(r.mode, r.id, r.permit, r.moved)
			if err := a.Rename(r.name, s.holders[i].name); ignoreAbsent(err) != nil {
				return err
			}
		}
	}
	for _, name := range dead {
		if err := a.Remove(name); ignoreAbsent(err) != nil {
			return err
		}
	}
	s.waiters = slices.DeleteFunc(s.waiters, func(name string) bool { return slices.Contains(dead, name) })
	return nil
}

// deadLifelines returns the names of dead ones that hold nothing.
func (a *attempt) deadLifelines(s *snapshot) (dead []string) {
	living := 0
	for _, name := range slices.Concat(s.newborn, s.waiters) {
		switch {
		case name == a.self.name, living == enoughWaiters:
		case a.ask(name) == gone:
			dead = append(dead, name)
		case strings.HasPrefix(name, waitName):
			living++
		}
	}
	return dead
}

// hold makes us a holder. It needs the token.
func (a *attempt) hold(s *snapshot) (progress, error) {
	var how progress
	var err error
	a.permit = a.choosePermit(s)
	switch a.holding {
	case byOpenFile:
		how, err = a.holdByFile(s)
	case byLentLifeline:
		how, err = a.holdByLentLifeline(s)
	default:
		name := a.holderName(a.self.id, nil)
		if how, err = a.holdAs(a.self.name, name); how == done && err == nil {
			a.self.name = name
		}
	}
	if how == done && err == nil && a.request.Mode != Exclusive {
		a.ringFirst(a.admitted(s))
	}
	return how, err
}

// holderName is the name of the holder that we become.
func (a *attempt) holderName(id string, f *openFile) string {
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

// admitted returns the waiters that may share the lock with us, now that we hold it: those behind us. Those before us
// are woken by the holder whose end has let us in. But a downgrade of ours is itself what lets all of them in.
func (a *attempt) admitted(s *snapshot) (waiters []string) {
	isDowngrade := s.has(ours)
	for _, name := range s.waiters {
		isBehind := name > waitName+","+a.self.id
		if (isDowngrade || isBehind) && !strings.HasSuffix(name, "@"+exclName) {
			waiters = append(waiters, name)
		}
	}
	return waiters
}

// holdAs gives a lifeline, or the record of an open file, its name as a holder.
func (a *attempt) holdAs(old, name string) (progress, error) {
	if old == name {
		return done, nil
	}
	err := a.move(old, name)
	if isAbsent(err) { // a cleaner has removed it, or another process that has it has just unlocked it
		return again, nil
	}
	return done, err
}

// holdByLentLifeline makes the lifeline that we have inherited a holder again. While we have the token its name changes
// once at most, by a release: one listing may miss it, two do not.
func (a *attempt) holdByLentLifeline(s *snapshot) (progress, error) {
	name := s.lifelineOf(a.lent)
	if name == "" {
		later, err := a.list()
		if err != nil {
			return again, err
		}
		if name = later.lifelineOf(a.lent); name == "" {
			return again, errLostLifeline
		}
	}
	return a.holdAs(name, a.holderName(a.lent, nil))
}

// draw returns a random number below n. The test that runs every interleaving replaces it.
var draw = rand.N[int]

// lastSignal is the highest number that an open file can have to know its record by: of the 64 qemu-user has no more.
const lastSignal = 62

// holdByFile makes our open file a holder. If it is one already, it keeps its mark and the ID of its record.
func (a *attempt) holdByFile(s *snapshot) (progress, error) {
	at, err := a.Place()
	if err != nil {
		return again, err
	}
	f := openFile{place: at, inode: a.Inode(), locker: at.start}
	i := slices.IndexFunc(s.holders, func(r record) bool { return r.verdict == ours })
	if i < 0 {
		return a.markFile(s, f)
	}
	had := s.holders[i]
	f.mark, f.signal, f.locker = had.file.mark, had.file.signal, min(had.file.locker, at.start)
	return a.holdAs(had.name, a.holderName(had.id, &f))
}

// markFile makes the record of our open file, and marks it. The record comes before the mark: a flock that is killed in
// between leaves a record without a mark, which is dead, and never a mark that another record could take for its own.
func (a *attempt) markFile(s *snapshot, f openFile) (how progress, err error) {
	signals := s.freeSignals()
	if len(signals) == 0 {
		return again, nil // somebody has come since our last look; the next one searches, see lacksSignal
	}
	f.signal = signals[draw(len(signals))]
	for _, mark := range []mark{noAtime, nonBlock} { // the second, if the file belongs to somebody else
		f.mark = mark
		name := a.holderName(a.self.id, &f)
		if err := a.Make(name); err != nil {
			return again, err
		}
		if err = a.Mark(f.signal, f.mark); err == nil {
			return done, nil
		}
		a.Remove(name)
	}
	return again, err
}

// lacksSignal reports whether our open file cannot have the lock because as many as can have it do so already, as far
// as is known: of those that are lost, a search may show that they do not.
func (a *attempt) lacksSignal(s *snapshot) bool {
	return a.holding == byOpenFile && !s.has(ours) && len(s.freeSignals()) == 0
}

// freeSignals returns the numbers that no open file with a record has.
func (s *snapshot) freeSignals() (signals []int) {
	var used [lastSignal + 1]bool
	for _, r := range s.holders {
		if r.file != nil && r.verdict != over {
			used[min(r.file.signal, lastSignal)] = true
		}
	}
	for n := 1; n <= lastSignal; n++ {
		if !used[n] {
			signals = append(signals, n)
		}
	}
	return signals
}

// discard releases the lock and, if nobody else is there, removes the state directory.
func (a *attempt) discard() error {
	if a.holding != byLifeline || a.self.name == "" {
		return a.release()
	}
	token := busy + "," + a.self.id
	how, _, err := a.take(token)
	isTaken := err == nil && how == done
	switch {
	case err == nil && !isTaken:
		return a.release()
	case isTaken && a.moveAwayIfAlone():
		a.forget()
		return nil
	}
	// The directory stays, and the token in it must not stay ours, as it may be after an error, too.
	if err := a.putBack(token, err); err != nil {
		a.forget() // the name of our lifeline says that it is dead
		return err
	}
	return a.release()
}

// moveAwayIfAlone removes the state directory if nobody else has a name there. It needs the token, which nobody can
// steal in a directory that was moved. If it does not succeed, for whatever reason, the directory stays.
func (a *attempt) moveAwayIfAlone() bool {
	s, err := a.list()
	isAlone := err == nil && a.self.name != "" && len(s.lifelines) == 1 && len(s.holders) == 1
	return isAlone && a.MoveAway() == nil
}
