package fallback

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"example.org/flock/internal/events"
	"example.org/flock/internal/openfile"
	"example.org/flock/internal/proc"
)

const (
	// busyPauses is how many times a busy token is looked at again, after pauses of some milliseconds, before we join the
	// line.
	busyPauses = 3
	// busyPause is how long we wait for an event of a busy token before we check whether its owner has died.
	busyPause = 10 * time.Millisecond
	// maxRetries is how many attempts follow each other without a pause because there was something new to watch.
	maxRetries = 3
	// cancelPause is how long it can take until Lock notices that its context is cancelled.
	cancelPause = 50 * time.Millisecond
	// waitingAfter is how long a method waits before it calls Lock.Waiting.
	waitingAfter = time.Second
	// turn is how much longer a waiter waits after an event than the one before it, so that the elder goes first.
	turn = time.Millisecond
	// searchTurn is the same among those for one mode, where a search of all processes follows.
	searchTurn = 30 * time.Millisecond

	// checkEvery is how often a waiter checks what no event tells: whether the names that keep it out still stand, and
	// whether the waiter before it still runs.
	checkEvery = 1500 * time.Millisecond
	// fullLook is how often a waiter that has all events makes an attempt all the same.
	fullLook = 5 * time.Minute
	// poorLook is how often one does that lacks an event, and how often some waiter does if all depend on the eldest, who
	// may not run, and not look stopped, as in a frozen container.
	poorLook = time.Second
	// closeAfter is after how long with the same holder we watch whether it closes its file.
	closeAfter = 20 * time.Millisecond
	// doubtPause is after how long we look again where not all could be seen.
	doubtPause = 50 * time.Millisecond

	// Where there are no events at all, pauses get longer up to longestPause. All waiters together look about once in
	// pausePerWaiter, however many they are: this is how long a hand-over takes and how much load they make. A single
	// waiter may take longer, up to lonePause.
	longestPause   = 500 * time.Millisecond
	pausePerWaiter = 4 * time.Millisecond
	lonePause      = 16 * time.Millisecond
)

// loseEvent is for tests. It returns how long after an event a check finds what happened, as if the event had been lost;
// 0 if it is not lost.
var loseEvent func() time.Duration

// A waiting is the wait of one acquire: a pauser.
type waiting struct {
	*call
	ctx     context.Context
	started time.Time
	told    bool      // Lock.Waiting was called
	checked time.Time // when the last wait with a check ended

	busyPauses int
	retries    int           // attempts without a pause because there was something new to watch
	pauseTime  time.Duration // where there are no events
	exhausted  bool          // there are no descriptors for events
}

func newWaiting(ctx context.Context, c *call) *waiting {
	return &waiting{call: c, ctx: ctx, started: c.Now(), pauseTime: shortestPause}
}

// A watched says what Pause waits for.
type watched struct {
	check   events.Check
	longest time.Duration // how long a pause may be; 0: no events are to be had
	ahead   []string      // waiters that go before us after an event
	rivals  []string      // those for the same mode
	marked  bool          // where a holder has ended, a search for its open file follows
	isNew   bool          // what happened to it before must be looked at now
}

func (w *waiting) pause(blockers []record, passing bool) error {
	if passing && w.busyPauses < busyPauses {
		w.busyPauses++
		w.listen(time.Duration(w.busyPauses) * shortestPause)
		return nil
	}
	joined := w.line.name == ""
	if joined {
		w.line.join(w.actor, w.Mode)
	}
	w.line.removeDead(w.listed, 1)
	e := w.watch(blockers)
	// A process that listed the directory before we were in the line did not wake us, and no event tells what happened
	// before it was watched.
	if (joined || e.isNew) && w.retries < maxRetries {
		w.retries++
		return nil
	}
	w.retries = 0
	return w.await(e, blockers, passing)
}

// await waits until there may be something to see, and calls Lock.Waiting at its time.
func (w *waiting) await(e watched, blockers []record, passing bool) error {
	for began := w.Now(); ; {
		now := w.Now()
		isHeld := !passing && blockers[0].word != wait
		if isHeld && !w.told && now.Sub(w.started) >= waitingAfter {
			w.told = true
			if w.lock.Waiting != nil {
				w.lock.Waiting(&LockedError{Dir: w.lock.dir, Holders: w.holders(blockers)})
			}
		}
		d, isLast := w.next(e, began, now, passing, isHeld)
		event := w.wait(d, e.check)
		if err := w.ctx.Err(); err != nil && err != context.DeadlineExceeded {
			return err
		}
		// Those who came before us go first. Nothing is missed meanwhile, and often several events come at once.
		switch {
		case event == events.Closed, event == events.Ended && e.marked:
			d := w.line.turns(e.rivals, searchTurn)
			if !w.Deadline.IsZero() {
				d = min(d, w.Deadline.Sub(w.Now()))
			}
			w.listen(d)
		case event == events.Ended, event == events.Changed:
			w.listen(w.line.turns(e.ahead, turn))
		}
		if event != events.Timeout || isLast {
			w.mustSearch = event == events.Timeout
			return nil
		}
	}
}

// next returns how long to wait, and whether an attempt follows even if nothing happens.
func (w *waiting) next(e watched, began, now time.Time, passing, isHeld bool) (d time.Duration, isLast bool) {
	d, isLast = e.longest, true
	isOver := !w.Deadline.IsZero() && !now.Before(w.Deadline) // and what keeps us out is passing
	switch {
	case d == 0:
		d = w.pauseTime/2 + rand.N(w.pauseTime)
		many := time.Duration(len(w.listed.waiters)) * pausePerWaiter
		w.pauseTime = min(w.pauseTime+w.pauseTime/4, max(lonePause, min(many, longestPause)))
	case e.isNew:
		d = shortestPause
	case isOver:
		d = busyPause
	case w.deferred: // those who are to search may not be able to
		d = poorLook
	case e.check.Running != 0: // we are not among the eldest
	case w.inDoubt:
		d = doubtPause
	case passing:
		d = busyPause
	case now.Sub(w.since) < closeAfter:
		d = closeAfter
	}
	d = max(d-now.Sub(began), 0)
	shorten := func(left time.Duration, last bool) {
		if left < d {
			d, isLast = max(left, 0), last
		}
	}
	if !w.Deadline.IsZero() && !isOver {
		shorten(w.Deadline.Sub(now), true)
	}
	if w.ctx.Done() != nil { // no event tells that it is cancelled
		shorten(cancelPause, false)
	}
	if !w.told && (isHeld || passing) {
		tell := w.started.Add(waitingAfter)
		if passing && tell.Before(now) {
			tell = w.since.Add(w.patience())
		}
		shorten(tell.Sub(now), passing)
	}
	return d, isLast
}

// listen is a sleep that ends when the bell rings.
func (w *waiting) listen(d time.Duration) {
	var bell events.Watcher
	bell.Bell(w.line.bell)
	bell.Wait(d, events.Check{})
}

func (w *waiting) wait(d time.Duration, check events.Check) events.Event {
	isDue := w.Now().Add(d).Sub(w.checked) >= checkEvery
	if !isDue {
		check = events.Check{}
	}
	event := w.lock.watcher.Wait(d, check)
	if isDue {
		w.checked = w.Now()
	}
	if event != events.Timeout && event != events.Seen && loseEvent != nil {
		if late := loseEvent(); late > 0 {
			w.Sleep(min(d, late))
			event = events.Seen
		}
	}
	return event
}

// watch watches what keeps us out or, if we are not among the eldest, the waiter whose place we are to take.
func (w *waiting) watch(blockers []record) (e watched) {
	if !events.Supported || w.line.name == "" || w.exhausted {
		return watched{}
	}
	defer func() {
		if e.isNew && !canOpen() { // leave the descriptors to what cannot do without
			w.lock.watcher.Close()
			closeEntry(w.line.bell)
			w.line.bell, w.exhausted = 0, true
			e = watched{}
		}
	}()
	e = watched{longest: fullLook, check: events.Check{Every: checkEvery, Directory: w.state.handle()}}
	// The younger waiters listen, too: if those before them are stopped, they are among the eldest without knowing it.
	w.lock.watcher.Bell(w.line.bell)
	// Those before us may wait for what we have, which we give up when we get the token.
	comesFirst := blockers[0].word == busy && w.mayHave()
	if comesFirst || !w.watchPredecessor(&e) {
		w.watchHolders(blockers, &e)
	}
	if w.isDistant(blockers) {
		w.line.beat()
		e.longest = checkEvery
	}
	return e
}

// watchPredecessor watches the waiter that must leave the line before we are among the eldest. It returns false if we are.
func (w *waiting) watchPredecessor(e *watched) bool {
	for {
		e.ahead, e.rivals = w.line.before(w.listed.waiters, w.Mode)
		if len(e.rivals) < eldest {
			return false
		}
		predecessor := e.rivals[eldest-1]
		o, _, ok := parseWaiter(predecessor)
		if !ok || w.Fate(o) == dead {
			w.state.Remove(predecessor)
			w.listed.waiters = slices.DeleteFunc(w.listed.waiters, func(name string) bool { return name == predecessor })
			continue
		}
		if w.Fate(o) == unknown || proc.IsStopped(o.pid) {
			return false
		}
		if _, err := w.lock.watcher.Processes([]int{o.pid}); err != nil {
			return false
		}
		if w.Fate(o) == alive { // if it died before it was watched, no event tells
			w.lock.watcher.NoDirectory()
			e.check.Names, e.check.Running = []string{predecessor}, o.pid
			many := poorLook * time.Duration(len(w.listed.waiters))
			e.longest = min(many/2+rand.N(many), fullLook)
			return true
		}
	}
}

// othersSearch reports whether a search is left to those who wait: we are not among the eldest of them that can search.
func (c *call) othersSearch(s snapshot) bool {
	if c.line == nil || c.Try || c.mustSearch || c.mayHave() {
		return false
	}
	_, rivals := c.line.before(s.waiters, c.Mode)
	return len(rivals) == eldest && !slices.ContainsFunc(rivals, func(name string) bool {
		o, _, _ := parseWaiter(name)
		return c.Fate(o) != alive || proc.IsStopped(o.pid)
	})
}

// watchHolders watches those who keep us out.
func (w *waiting) watchHolders(blockers []record, e *watched) {
	note := func(added bool, err error) {
		e.isNew = e.isNew || added
		if err != nil {
			e.longest = poorLook
		}
	}
	var pids []int
	for _, r := range blockers {
		e.check.Names = append(e.check.Names, r.name)
		if here().reach(r.owner.machine) == alive {
			pids = append(pids, r.owner.pid)
			e.marked = e.marked || r.owner.mark != openfile.None
		}
	}
	if len(blockers) > events.MaxNames {
		e.longest = poorLook
	}
	note(w.lock.watcher.Processes(pids))
	if w.line.bell == 0 {
		note(w.lock.watcher.Directory(w.state.handle()))
	}
	if e.marked && w.Now().Sub(w.since) >= closeAfter {
		if w.lock.file.fd < 0 || w.lock.file.isDirectory {
			e.longest = poorLook // there is no such event, or too many
		} else {
			note(w.lock.watcher.CloseOf(w.lock.file.fd))
		}
	}
}

func (w *waiting) done() {
	w.line.leave()
	n := 16
	if len(w.listed.waiters) > n {
		n = 2 // those in the line find each other
	}
	w.line.removeDead(w.listed, n)
	w.lock.watcher.Bell(0)
	w.lock.watcher.Processes(nil)
}
