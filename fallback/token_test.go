package fallback

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"example.org/flock/fallback/openfile"
)

// A busySystem is a directory in which others rename the token and their lifelines: each listing is the next one of a
// script, and the last one stays. A sleep takes long, as on a busy machine.
type busySystem struct {
	system
	listings [][]string
	now      time.Time
	slow     time.Duration // what a sleep takes
	looks    int
}

func (s *busySystem) Now() time.Time                      { return s.now }
func (s *busySystem) Sleep(time.Duration)                 { s.now = s.now.Add(s.slow) }
func (s *busySystem) Machine() machine                    { return simMachine("1") }
func (s *busySystem) Ask(string) answer                   { return hasReader }
func (s *busySystem) Reopen(bool) error                   { return nil }
func (s *busySystem) ID() openfile.FileID                 { return openfile.FileID{Device: 1, Inode: 1} }
func (s *busySystem) Search(openfile.Query) openfile.View { return openfile.View{} }
func (s *busySystem) Rename(_, _ string) error            { return fs.ErrNotExist }

func (s *busySystem) List() ([]string, error) {
	s.looks++
	return append([]string{}, s.listings[min(s.looks, len(s.listings))-1]...), nil
}

const ours1, theirs1 = "wait,v1,1,1,me,0.0.u,h,m,1,4026531836.1,d@excl", "v1,1,2,it,0.0.u,h,m,1,4026531836.1,d"

// attemptWith returns an attempt whose lifeline has a name.
func attemptWith(s system, name string) *attempt {
	l := &Lock{fd: -1, self: namedLifeline{id: idOf(name), name: name}}
	return newAttempt(context.Background(), s, l, Request{Mode: Exclusive})
}

// TestTokenThatIsRarelySeen looks only every two seconds, and misses names that are just renamed.
func TestTokenThatIsRarelySeen(t *testing.T) {
	mine, token := ours1, busy+","+idOf(ours1)
	waits, holds, has := waitName+","+theirs1+"@"+exclName, exclName+","+theirs1, busy+","+theirs1
	for name, listings := range map[string][][]string{
		"lifeline": {{mine, waits, has}, {mine, has}, {mine, holds, has}, {mine, holds, token}},
		"token":    {{mine, waits}, {mine, waits}, {mine, waits}, {mine, token}},
		"tokens":   {{mine, free, has}, {mine, free, has}, {mine, token}},
	} {
		s := &busySystem{listings: listings, now: time.Unix(1, 0), slow: 2 * time.Second}
		a := attemptWith(s, mine)
		if isTaken, keepers, err := a.take(token); err != nil || !isTaken {
			t.Errorf("%s: %v, %v, %v", name, isTaken, keepers, err)
		}
		if name == "lifeline" { // which --holders does not ask for
			continue
		}
		s.looks = 0
		s.listings[len(listings)-1] = []string{free}
		if _, err := a.lookSettled(); err != nil {
			t.Errorf("%s: holders: %v", name, err)
		}
	}
}

// TestTokenWithoutItsOwner has a token that nobody can free.
func TestTokenWithoutItsOwner(t *testing.T) {
	for name, listing := range map[string][]string{
		"none": {ours1}, "two": {ours1, free, busy + "," + theirs1}, "ownerless": {ours1, busy + "," + theirs1},
	} {
		s := &busySystem{listings: [][]string{listing}, now: time.Unix(1, 0), slow: 50 * time.Millisecond}
		a := attemptWith(s, ours1)
		if _, _, err := a.take(busy + "," + a.self.id); err == nil {
			t.Errorf("%s: no error", name)
		}
		if took := s.now.Sub(time.Unix(1, 0)); took < stuck || took > 2*stuck {
			t.Errorf("%s: after %v", name, took)
		}
	}
}

// A deafSystem is a filesystem on which no lifeline answers.
type deafSystem struct{ *busySystem }

func (s deafSystem) Ask(string) answer { return noReader }

// TestTokenOfADeadOwnerWhereNoLifelineAnswers: that owner may live, so nobody takes the token, and nobody waits for it.
func TestTokenOfADeadOwnerWhereNoLifelineAnswers(t *testing.T) {
	listing := []string{ours1, waitName + "," + theirs1 + "@" + exclName, busy + "," + theirs1}
	s := deafSystem{&busySystem{listings: [][]string{listing}, now: time.Unix(1, 0), slow: 50 * time.Millisecond}}
	a := attemptWith(s, ours1)
	if isTaken, _, err := a.take(busy + "," + a.self.id); err != errDeaf {
		t.Errorf("%v, %v", isTaken, err)
	}
}

// TestFileOfAnotherMount has the record of an open file with another inode number than the locked file's, 1. In this
// kernel and by this mount it is another file; by another mount that is not known.
func TestFileOfAnotherMount(t *testing.T) {
	const file = "@7.1.9.3.a.2-1"
	for is, owner := range map[string]string{
		"another file":              "v1,1,2,it,0.0.u,h,m,1,4026531836.1,d",
		"a file by another mount":   "v1,1,2,it,0.0.u,h,m,1,4026531836.1,e",
		"a file on another machine": "v1,1,2,it,0.0.u,h2,m2,2,4026531836.1,d",
	} {
		r, ok := parseRecord(exclName + "," + owner + file)
		if !ok {
			t.Fatal("cannot be read: ", owner)
		}
		a := &attempt{system: &busySystem{}, self: new(namedLifeline), request: Request{Mode: Exclusive}}
		r.verdict = doubtful
		keepers := a.keepers(&snapshot{holders: []record{r}})
		if isKeptOut := len(keepers) > 0; isKeptOut != (is != "another file") {
			t.Errorf("%s: kept out: %v", is, isKeptOut)
		}
	}
	for is, file := range map[string]string{
		"an unknown mark": "@7.1.9.3.x.2-1",
		"no device":       "@7.1.9.3.a.2",
		"a start of the locker instead of a device": "@7.1.9.3.a.2.1",
	} {
		if _, ok := parseRecord(exclName + "," + theirs1 + file); ok {
			t.Error("it can be read, with ", is)
		}
	}
}

// TestWhoJudges: where, and as whom, a flock can judge a holder that user 7 in group 7 cannot.
func TestWhoJudges(t *testing.T) {
	self := simMachine("0")
	self.user = user{"7", "7", "u"}
	as := func(u, group string, change func(*machine)) machine {
		m := self
		m.user = user{u, group, "u"}
		if change != nil {
			change(&m)
		}
		return m
	}
	onB := func(m *machine) { m.host, m.id, m.boot = "b", "b", "b" }
	byMount := func(m *machine) { m.device = "e" }
	inside := func(m *machine) { m.pidNS.number = "8" }
	for _, c := range []struct {
		owner machine
		file  *openfile.File
		want  string
	}{
		{as("8", "8", onB), nil, " there"},
		{as("8", "8", byMount), nil, " by that mount"},
		{as("8", "8", onB), &openfile.File{}, " there as user 8 or root"},
		{as("7", "8", onB), &openfile.File{}, " there as user 7 or root"},
		{as("0", "0", onB), &openfile.File{}, " there as root"},
		{as("8", "8", nil), &openfile.File{}, " as user 8 or root"},
		{as("7", "8", nil), &openfile.File{}, " as user 7 in group 8, or as root,"},
		{as("7", "7", nil), &openfile.File{}, " as root"}, // who protects itself
		{as("8", "8", inside), &openfile.File{}, " in its container as user 8, or as root outside of containers,"},
	} {
		if got := self.whoJudges(record{owner: owner{machine: c.owner}, file: c.file}); got != c.want {
			t.Errorf("%v: %q, not %q", c.owner, got, c.want)
		}
	}
}

// TestSearchWithoutAnEnd: that a search has not come to its end, because the machine is short of processor time, is no
// reason to say that only somebody else can judge a holder.
func TestSearchWithoutAnEnd(t *testing.T) {
	r, ok := parseRecord(exclName + ",v1,1,7,it,0.0.u,h,m,1,4026531836.1,d@7.1.9.3.a.1-1")
	if !ok {
		t.Fatal("cannot be read")
	}
	l := &Lock{dir: tempDir(t)}
	a := newAttempt(t.Context(), &busySystem{}, l, Request{})
	for _, c := range []struct {
		v    openfile.View
		want verdict
	}{{openfile.View{}, lost}, {openfile.View{Complete: true}, over}, {openfile.View{Complete: true, Found: true}, held}} {
		r.verdict = a.conclude(c.v, r)
		if is := l.lockedBy(a, []record{r}).Holders[0]; r.verdict != c.want || is.Unreachable || is.Advice != "" {
			t.Errorf("%+v: %v, %+v", c.v, r.verdict, is)
		}
	}
}

// An endlessSystem has always a new process: a search that does not give up ends after a thousand of them.
type endlessSystem struct{ busySystem }

func (s *endlessSystem) Search(q openfile.Query) openfile.View {
	for range 1000 {
		if q.ShallStop() {
			return openfile.View{}
		}
		s.Sleep(0)
	}
	return openfile.View{Complete: true}
}

// An until is a context with a deadline on a clock that is not the system's.
type until struct {
	context.Context
	deadline time.Time
}

func (u until) Deadline() (time.Time, bool) { return u.deadline, true }

// TestSearchIsGivenUp: a search heeds the deadline, and that the caller cancels.
func TestSearchIsGivenUp(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Unix(1, 0)
	for what, c := range map[string]struct {
		ctx      context.Context
		deadline time.Time
		want     verdict
	}{
		"neither":    {t.Context(), time.Time{}, over},
		"cancelled":  {gone, time.Time{}, lost},
		"a deadline": {t.Context(), start.Add(time.Second), lost},
	} {
		r, _ := parseRecord(exclName + ",v1,1,7,it,0.0.u,h,m,1,4026531836.1,d@7.1.9.3.a.1-1")
		r.verdict = lost
		s := &endlessSystem{busySystem{listings: [][]string{{free}}, now: start, slow: 10 * time.Millisecond}}
		found := snapshot{holders: []record{r}}
		ctx := c.ctx
		if !c.deadline.IsZero() {
			ctx = until{ctx, c.deadline}
		}
		newAttempt(ctx, s, &Lock{fd: -1}, Request{}).search(&found)
		if is := found.holders[0].verdict; is != c.want {
			t.Errorf("%s: %v", what, is)
		}
	}
}

// TestWhoMayHaveInherited: of the processes that may not be looked into, which can have the open file of a record?
func TestWhoMayHaveInherited(t *testing.T) {
	protected := func(p openfile.Process) openfile.Process { p.IsProtected = true; return p }
	of := func(start uint64, user, group string) openfile.Process {
		return openfile.Process{Start: start, Users: []string{user}, Groups: []string{group}}
	}
	theirs := "v1,1,2,it,7.7.u,h,m,1,4026531836.1,d"
	group := "v1,1,2,it,0.7.u,h,m,1,4026531836.1,d" // who looks is user 0 in group 0
	otherClock := "v1,1,2,it,7.7.u,h,m,1,4026531836.,d"
	for name, c := range map[string]struct {
		owner, file string // the locker was started at 50
		refuses     openfile.Process
		want        bool
	}{
		"another user's, later":                  {theirs, "@7.1e.9.3.a.1-1", of(60, "7", "7"), true},
		"another user's, earlier":                {theirs, "@7.1e.9.3.a.1-1", of(40, "7", "7"), false},
		"a third user's":                         {theirs, "@7.1e.9.3.a.1-1", of(60, "8", "7"), false},
		"one that nothing is known of":           {theirs, "@7.1e.9.3.a.1-1", openfile.Process{}, true},
		"younger than the locker, file moved on": {theirs, "@9.2e.9.3.a.1-1.1e", of(60, "7", "7"), true},
		"another group's":                        {group, "@7.1e.9.3.a.1-1", of(60, "0", "7"), true},
		"of another group, earlier":              {group, "@7.1e.9.3.a.1-1", of(40, "0", "7"), false},
		"of a third group":                       {group, "@7.1e.9.3.a.1-1", of(60, "0", "8"), false},
		"a login's":                              {group, "@7.1e.9.3.a.1-1", protected(of(60, "0", "7")), false},
		"another user's in that group":           {group, "@7.1e.9.3.a.1-1", of(60, "7", "7"), false},
		"as old as the locker":                   {theirs, "@7.1e.9.3.a.1-1", of(50, "7", "7"), true},
		"of an unknown age":                      {theirs, "@7.1e.9.3.a.1-1", of(0, "7", "7"), true},
		"beside a locker of an unknown age":      {theirs, "@7.1e.9.3.a.1-1.0", of(60, "7", "7"), true},
		"earlier, by another clock":              {otherClock, "@7.1e.9.3.a.1-1", of(40, "7", "7"), true},
	} {
		r, ok := parseRecord(exclName + "," + c.owner + c.file)
		if !ok {
			t.Fatalf("%s: cannot be read", name)
		}
		a := &attempt{system: &busySystem{}, self: new(namedLifeline)}
		if got := a.mayHaveInherited(c.refuses, r); got != c.want || !a.isAnothers(r) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A replacedSystem is a directory that has been removed, and its path leads to another one, with a free token.
type replacedSystem struct {
	busySystem
	reopened bool
	taken    bool // the token of the other one
}

func (s *replacedSystem) CloseLifeline(lifeline) {}
func (s *replacedSystem) Reopen(bool) error      { s.reopened = true; return nil }

func (s *replacedSystem) Ask(string) answer {
	if s.reopened {
		return noName
	}
	return hasReader
}

func (s *replacedSystem) List() ([]string, error) {
	if s.reopened {
		return []string{free}, nil
	}
	return []string{ours1, waitName + "," + theirs1}, nil
}

func (s *replacedSystem) Rename(string, string) error {
	s.taken = s.reopened
	if s.taken {
		return nil
	}
	return fs.ErrNotExist
}

// TestTokenOfAnotherDirectory: who has no lifeline in a directory does not take its token. Killed with it, it would
// have locked it for good.
func TestTokenOfAnotherDirectory(t *testing.T) {
	s := &replacedSystem{busySystem: busySystem{now: time.Unix(1, 0)}}
	a := attemptWith(s, ours1)
	isTaken, keepers, err := a.take(busy + "," + a.self.id)
	if isTaken || keepers != nil || err != nil || a.self.name != "" {
		t.Errorf("%v, %v, %v, %q", isTaken, keepers, err, a.self.name)
	}
	if !s.reopened || s.taken {
		t.Errorf("reopened %v, taken %v", s.reopened, s.taken)
	}
}

// A foreignSystem is a directory in which a cleaner of old files has removed our lifeline, and somebody else has the
// lock.
type foreignSystem struct {
	busySystem
	movedAway bool
}

func (s *foreignSystem) Ask(string) answer           { return noName }
func (s *foreignSystem) CloseLifeline(lifeline)      {}
func (s *foreignSystem) Rename(string, string) error { return nil }
func (s *foreignSystem) MoveAway() error             { s.movedAway = true; return nil }

// TestDiscardOfAnothers: who has lost its lifeline does not take the directory away from who has the lock.
func TestDiscardOfAnothers(t *testing.T) {
	s := &foreignSystem{
		busySystem: busySystem{now: time.Unix(1, 0), listings: [][]string{{exclName + "," + theirs1, free}}},
	}
	a := attemptWith(s, exclName+","+idOf(ours1))
	if err := a.discard(); err != nil || s.movedAway {
		t.Errorf("%v, moved away: %v", err, s.movedAway)
	}
}

// A staleSystem is the directory on a client of a network filesystem that does not learn who has the token: its listing
// shows the token free, which it has not been for long.
type staleSystem struct {
	busySystem
	refreshed int // after so many times that the directory was opened the token can be had; 0: never
}

func (s *staleSystem) Reopen(bool) error { s.refreshed--; return nil }

func (s *staleSystem) Rename(string, string) error {
	if s.looks > 1000 {
		return errors.New("without a pause or an end")
	}
	if s.refreshed == 0 {
		return nil
	}
	return fs.ErrNotExist
}

// TestTokenThatIsNotFree: who is told that the token is free, and cannot have it, pauses, opens the directory again,
// looks at the deadline, and says after a second that somebody keeps it.
func TestTokenThatIsNotFree(t *testing.T) {
	start := time.Unix(1, 0)
	for _, c := range []struct {
		name      string
		refreshed int
		deadline  time.Time
		isTaken   bool
		min, max  time.Duration
	}{
		{"for ever", -1, time.Time{}, false, stuck, 2 * stuck},
		{"beyond a deadline", -1, start.Add(stuck / 2), false, stuck, 2 * stuck},
		{"until the directory is opened again", 2, time.Time{}, true, 1, stuck / 2},
	} {
		s := &staleSystem{refreshed: c.refreshed}
		s.busySystem = busySystem{listings: [][]string{{ours1, free}}, now: start, slow: 50 * time.Millisecond}
		l := &Lock{dir: tempDir(t), self: namedLifeline{id: idOf(ours1), name: ours1}}
		ctx := t.Context()
		if !c.deadline.IsZero() {
			ctx = until{ctx, c.deadline}
		}
		a := newAttempt(ctx, s, l, Request{Mode: Exclusive})
		isTaken, keepers, err := a.take(busy + "," + a.self.id)
		if took := s.now.Sub(start); err != nil || isTaken != c.isTaken || len(keepers) > 0 == isTaken || took < c.min || took > c.max {
			t.Errorf("%s: %v, %v after %v, %v", c.name, isTaken, keepers, took, err)
		}
		const says = "held by a process, which is taking or releasing it"
		if !isTaken && l.lockedBy(a, keepers).Error() != says {
			t.Errorf("%s: %v", c.name, l.lockedBy(a, keepers))
		}
	}
}

// A contestedSystem is a directory in which others are always faster: a second and a third contender hand the token to
// each other, and a lifeline that is made is taken for dead before it is open. The caller cancels after a while.
type contestedSystem struct {
	busySystem
	cancel func()
}

// look counts a look, or an attempt to make a lifeline.
func (s *contestedSystem) look() error {
	s.looks++
	switch {
	case s.looks == 20:
		s.cancel()
	case s.looks > 1000:
		return errors.New("without an end")
	}
	return nil
}

func (s *contestedSystem) List() ([]string, error) {
	it := theirs1
	if s.looks%2 == 0 {
		it = strings.Replace(it, ",1,2,", ",1,3,", 1)
	}
	return []string{ours1, waitName + "," + it + "@" + exclName, busy + "," + it}, s.look()
}

func (s *contestedSystem) Make(string) error                     { return s.look() }
func (s *contestedSystem) OpenLifeline(string) (lifeline, error) { return 0, fs.ErrNotExist }

// TestCancelLoserOfRaces: who cannot come, or loses each race for the token, heeds that the caller cancels.
func TestCancelLoserOfRaces(t *testing.T) {
	for _, name := range []string{"", ours1} {
		ctx, cancel := context.WithCancel(t.Context())
		s := &contestedSystem{busySystem{now: time.Unix(1, 0), slow: time.Millisecond}, cancel}
		a := attemptWith(s, name)
		a.ctx = ctx
		if isHeld, keepers, err := a.acquire(nil); err != nil || isHeld || keepers != nil {
			t.Errorf("%q: %v, %v, %v after %d looks", name, isHeld, keepers, err, s.looks)
		}
	}
}
