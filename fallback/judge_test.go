package fallback

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"example.org/flock/fallback/openfile"
)

// A toldSystem answers what a test tells it to.
type toldSystem struct {
	busySystem
	machine machine
	ask     answer
	at      map[int]openfile.Answer // by the number of the descriptor
	clock   bool                    // what was said to share the clock in the last question
	here    openfile.Location
	nowhere error
	all     bool
	hides   bool
	list    error
	view    openfile.View
	query   openfile.Query // the last one
	id      openfile.FileID
}

func (s *toldSystem) Machine() machine                      { return cmp.Or(s.machine, simMachine("1")) }
func (s *toldSystem) Ask(string) answer                     { return s.ask }
func (s *toldSystem) Locate() (openfile.Location, error)    { return s.here, s.nowhere }
func (s *toldSystem) SeesAll() bool                         { return s.all }
func (s *toldSystem) HidesProcesses() bool                  { return s.hides }
func (s *toldSystem) ID() openfile.FileID                   { return s.id }
func (s *toldSystem) Marked(*openfile.File) bool            { return false }
func (s *toldSystem) Search(q openfile.Query) openfile.View { s.query = q; return s.view }

func (s *toldSystem) At(f *openfile.File, sharesClock bool) openfile.Answer {
	s.clock = sharesClock
	return s.at[f.Number]
}

func (s *toldSystem) List() ([]string, error) {
	names, _ := s.busySystem.List()
	return names, s.list
}

// attempt returns an attempt for an open file, or for a lifeline.
func (s *toldSystem) attempt(fd int, r Request) *attempt {
	s.now = time.Unix(1, 0)
	if s.listings == nil {
		s.listings = [][]string{{free}}
	}
	return newAttempt(context.Background(), s, &Lock{fd: fd}, r)
}

// idOn returns an ID of process 2 on a machine.
func idOn(m machine) string { return owner{"1", 2, 0, "it", m}.String() }

func changed(change func(m *machine)) machine {
	m := simMachine("1")
	change(&m)
	return m
}

var (
	onAnother  = changed(func(m *machine) { m.host, m.id, m.boot = "b", "b", "b" })
	byMount    = changed(func(m *machine) { m.device = "e" })
	beforeBoot = changed(func(m *machine) { m.boot = "0" })
	inside     = changed(func(m *machine) { m.pidNS = pidNamespace{"8", "8"} })
	noClock    = changed(func(m *machine) { m.pidNS.start1 = "" })
	anothers   = changed(func(m *machine) { m.user.number = "7" })
	inGroup    = changed(func(m *machine) { m.user.group = "7" })
	elsewhere  = changed(func(m *machine) { m.user.namespace = "v" })
)

// aRecord returns the record of a holder on a machine, whose open file is at a number of process 7, which was started at
// 1 as was the locker.
func aRecord(t *testing.T, m machine, number string) record {
	t.Helper()
	n, _ := strconv.Atoi(number)
	f := openfile.File{Location: openfile.Location{PID: 7, Start: 1, Number: n}, FileID: openfile.FileID{Device: 1, Inode: 1},
		Mark: openfile.NoAtime, Signal: 3, LockerStart: 1}
	r, ok := parseRecord(recordName(Exclusive, idOn(m), 0, &f))
	if !ok {
		t.Fatal("cannot be read")
	}
	return r
}

// TestJudgeLifeline: a lifeline is asked only where it can answer.
func TestJudgeLifeline(t *testing.T) {
	for _, c := range []struct {
		name string
		ask  answer
		want verdict
	}{
		{exclName + "," + theirs1, hasReader, held},
		{exclName + "," + theirs1, noReader, over},
		{exclName + "," + theirs1, noName, over},
		{exclName + "," + theirs1, unknown, doubtful},
		{exclName + "," + idOn(onAnother), noReader, doubtful},
		{exclName + "," + idOn(byMount), noReader, doubtful},
		{exclName + "," + idOn(beforeBoot), hasReader, over},
		{"excl,of somebody else", hasReader, over},
	} {
		s := &toldSystem{ask: c.ask}
		if got := s.attempt(-1, Request{}).judgeLifeline(c.name); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestJudgeFile: an open file is looked at only where its process can be.
func TestJudgeFile(t *testing.T) {
	for what, c := range map[string]struct {
		of   machine
		all  bool
		at   openfile.Answer
		want verdict
	}{
		"there":                      {simMachine("1"), false, openfile.There, seen},
		"not there":                  {simMachine("1"), false, openfile.NotThere, lost},
		"unseen":                     {simMachine("1"), true, openfile.Unknown, doubtful},
		"on another machine":         {onAnother, true, openfile.There, doubtful},
		"by another mount":           {byMount, true, openfile.There, doubtful},
		"of an earlier boot":         {beforeBoot, true, openfile.There, over},
		"in another namespace":       {inside, false, openfile.There, doubtful},
		"in another namespace, root": {inside, true, openfile.There, lost},
		"by another clock":           {noClock, false, openfile.There, seen},
	} {
		s := &toldSystem{all: c.all, at: map[int]openfile.Answer{9: c.at}}
		a := s.attempt(-1, Request{})
		r := aRecord(t, c.of, "9")
		if is := a.judgeFile(r); is != c.want || s.clock && c.of == noClock {
			t.Errorf("%s: %v, clock %v", what, is, s.clock)
		}
	}
}

// TestLook judges all holders.
func TestLook(t *testing.T) {
	there, gone, lifeline := aRecord(t, simMachine("1"), "9"), aRecord(t, simMachine("1"), "10"), exclName+","+theirs1
	s := &toldSystem{ask: noReader, at: map[int]openfile.Answer{9: openfile.There, 10: openfile.NotThere}}
	s.listings = [][]string{{there.name, gone.name, lifeline, free}}
	a := s.attempt(-1, Request{})
	found, err := a.look()
	if err != nil || len(found.holders) != 3 {
		t.Fatal(found, err)
	}
	for _, r := range found.holders {
		want := map[string]verdict{there.name: seen, gone.name: lost, lifeline: over}[r.name]
		if r.verdict != want {
			t.Errorf("%s: %v", r.name, r.verdict)
		}
	}
	if !found.has(lost) || found.has(doubtful) {
		t.Error("what it has")
	}
	s.list = errors.New("gone")
	if _, err := a.look(); err != s.list {
		t.Error(err)
	}
}

// TestKeepers: who keeps out whom.
func TestKeepers(t *testing.T) {
	of := func(m Mode, v verdict, inode uint64) record {
		r := aRecord(t, simMachine("1"), "9")
		r.mode, r.verdict, r.file.Inode = m, v, inode
		return r
	}
	x, sh, p := of(Exclusive, held, 1), of(Shared, held, 1), of(Permit, held, 1)
	doubt, isLost, ended, own := of(Exclusive, doubtful, 1), of(Exclusive, lost, 1), of(Exclusive, over, 1), of(Exclusive, ours, 1)
	another := of(Exclusive, held, 2)
	for i, c := range []struct {
		wants   Mode
		holders []record
		want    int
	}{
		{Exclusive, []record{x}, 1}, {Exclusive, []record{sh, sh}, 2}, {Exclusive, []record{p}, 1},
		{Shared, []record{x}, 1}, {Shared, []record{sh}, 0}, {Shared, []record{p, p}, 0},
		{Permit, []record{x}, 1}, {Permit, []record{sh, sh, p}, 0}, {Permit, []record{p}, 0}, {Permit, []record{p, p}, 2},
		{Permit, []record{p, p, p}, 3}, {Permit, []record{p, p, x}, 1},
		{Exclusive, []record{doubt}, 1}, {Exclusive, []record{isLost}, 1}, {Exclusive, []record{ended}, 0},
		{Exclusive, []record{own}, 0}, {Exclusive, []record{another}, 0}, {Exclusive, nil, 0},
	} {
		s := &toldSystem{id: openfile.FileID{Device: 1, Inode: 1}}
		got := s.attempt(-1, Request{Mode: c.wants, Permits: 2}).keepers(&snapshot{holders: c.holders})
		if len(got) != c.want {
			t.Errorf("%d: %v", i, got)
		}
	}
	// The file that is locked is not known: whatever has a record may be it.
	if got := new(toldSystem).attempt(-1, Request{Mode: Shared}).keepers(&snapshot{holders: []record{another}}); len(got) != 1 {
		t.Error("an unknown file: ", got)
	}
	if a := (&toldSystem{}).attempt(-1, Request{}); !a.isOfOurFile(record{}) {
		t.Error("a lifeline is of another file")
	}
}

// TestShallSearch: who searches for what is lost.
func TestShallSearch(t *testing.T) {
	isLost, there := aRecord(t, simMachine("1"), "9"), aRecord(t, simMachine("1"), "10")
	isLost.verdict, there.verdict = lost, seen
	for what, c := range map[string]struct {
		keepers []record
		waiters []string
		try     bool
		isForUs bool
		want    bool
	}{
		"nothing is lost":       {keepers: []record{there}},
		"no waiter":             {keepers: []record{isLost}, want: true},
		"a waiter":              {keepers: []record{isLost}, waiters: []string{"another", "self"}},
		"this one is the first": {keepers: []record{isLost}, waiters: []string{"self", "another"}, want: true},
		"it tries":              {keepers: []record{there, isLost}, waiters: []string{"another"}, try: true, want: true},
		"after a while":         {keepers: []record{isLost}, waiters: []string{"another"}, isForUs: true, want: true},
	} {
		a := new(toldSystem).attempt(-1, Request{Try: c.try})
		a.self.name = "self"
		if got := a.shallSearch(&snapshot{waiters: c.waiters}, c.keepers, c.isForUs); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// TestNeedsSearch: what is lost is searched for if it may keep us out, our mark would hide it, or no signal is free.
func TestNeedsSearch(t *testing.T) {
	isLost, there := aRecord(t, simMachine("1"), "9"), aRecord(t, simMachine("1"), "10")
	isLost.verdict, there.verdict = lost, seen
	isLost.mode, there.mode = Shared, Shared
	full := []record{isLost}
	for n := 1; n <= lastSignal; n++ {
		r := there
		file := *there.file
		file.Signal, r.file = n, &file
		full = append(full, r)
	}
	at := func(pid, number int) openfile.Location { return openfile.Location{PID: pid, Number: number} }
	for what, c := range map[string]struct {
		holders []record
		wants   Mode
		fd      int
		here    openfile.Location
		nowhere error
		want    bool
	}{
		"nothing is lost":          {holders: []record{there}, wants: Exclusive, fd: -1},
		"it keeps us out":          {holders: []record{isLost}, wants: Exclusive, fd: -1, want: true},
		"it shares the lock":       {holders: []record{isLost}, wants: Shared, fd: -1},
		"no signal is free":        {holders: full, wants: Shared, fd: 9, want: true},
		"no signal, and a command": {holders: full, wants: Shared, fd: -1},
		"it would hide it":         {holders: []record{there, isLost}, wants: Shared, fd: 9, here: at(7, 9), want: true},
		"another number":           {holders: []record{there, isLost}, wants: Shared, fd: 9, here: at(7, 10)},
		"another process":          {holders: []record{isLost}, wants: Shared, fd: 9, here: at(8, 9)},
		"a command at that number": {holders: []record{isLost}, wants: Shared, fd: -1, here: at(7, 9)},
		"a permit":                 {holders: []record{isLost}, wants: Permit, fd: -1, want: true},
		"it is nowhere":            {holders: []record{isLost}, wants: Shared, fd: 9, here: at(7, 9), nowhere: errors.New("")},
	} {
		s := &toldSystem{here: c.here, nowhere: c.nowhere}
		if got := s.attempt(c.fd, Request{Mode: c.wants}).needsSearch(&snapshot{holders: c.holders}); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// TestSearchInVain: who waits does not repeat at once a search of which nothing can be written down.
func TestSearchInVain(t *testing.T) {
	for what, c := range map[string]struct {
		view openfile.View
		lost int
		try  bool
		want bool // whether it searches again at once
	}{
		"gone":                     {view: openfile.View{Certain: true, Complete: true}, lost: 1, want: true},
		"written down":             {view: openfile.View{Found: true, Certain: true}, lost: 1, want: true},
		"one of two":               {view: openfile.View{Found: true, Certain: true}, lost: 2},
		"one of two, and it tries": {view: openfile.View{Found: true, Certain: true}, lost: 2, try: true, want: true},
		"without kcmp":             {view: openfile.View{Found: true}, lost: 1},
		"not to the end":           {view: openfile.View{Certain: true}, lost: 1},
	} {
		s := &toldSystem{view: c.view}
		a := s.attempt(-1, Request{Mode: Exclusive, Try: c.try})
		var found snapshot
		for n := range c.lost {
			r := aRecord(t, simMachine("1"), strconv.Itoa(9+n))
			r.verdict, r.file.PID = lost, 7+n
			found.holders = append(found.holders, r)
		}
		keepers := a.keepers(&found)
		a.search(&found)
		if got := a.searchMayHelp(keepers); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
		if s.now = s.now.Add(pauseAfterSearch); !a.searchMayHelp(keepers) {
			t.Errorf("%s: never again", what)
		}
	}
}

// TestUnsearchable: which records a search could miss.
func TestUnsearchable(t *testing.T) {
	of := func(id string, pid int, v verdict) record {
		r := aRecord(t, simMachine("1"), "9")
		r.id, r.name, r.file.PID, r.verdict = id, "excl,"+id, pid, v
		return r
	}
	lifeline := record{name: "excl,c", id: "c", verdict: held}
	for what, c := range map[string]struct {
		beside record
		want   verdict
	}{
		"alone":                       {lifeline, lost},
		"its process has another":     {of("b", 7, seen), held},
		"in doubt":                    {of("b", 7, doubtful), held},
		"unsearchable":                {of("b", 7, held), held},
		"over":                        {of("b", 7, over), lost},
		"lost, too":                   {of("b", 7, lost), lost},
		"ours, whose signal says so":  {of("b", 7, ours), lost},
		"another process has another": {of("b", 8, seen), lost},
	} {
		for _, first := range []bool{true, false} {
			s := &snapshot{holders: []record{of("a", 7, lost), c.beside}}
			i := 0
			if !first {
				slices.Reverse(s.holders)
				i = 1
			}
			was := s.holders[1-i].verdict
			system := new(toldSystem) // a search has no end
			system.attempt(-1, Request{}).search(s)
			if got := s.holders[i].verdict; got != c.want || s.holders[1-i].verdict != was {
				t.Errorf("%s: %v", what, got)
			}
			if n := len(system.query.Wanted); n != map[bool]int{true: 1}[c.want == lost]+map[bool]int{true: 1}[was == lost] {
				t.Errorf("%s: %d are searched for", what, n)
			}
		}
	}
}

// TestSearchAsks: what a search is asked for, and what becomes of its answer.
func TestSearchAsks(t *testing.T) {
	there, isLost, another := aRecord(t, simMachine("1"), "9"), aRecord(t, simMachine("1"), "10"), aRecord(t, simMachine("1"), "11")
	there.verdict, isLost.verdict, another.verdict = seen, lost, seen
	there.file.PID, another.file.PID = 5, 6
	at := openfile.Location{PID: 7, Start: 1, Number: 12}
	for what, c := range map[string]struct {
		view openfile.View
		want verdict
	}{
		"nothing":        {openfile.View{Certain: true, Complete: true}, over},
		"found":          {openfile.View{Certain: true, Found: true, At: at}, seen},
		"perhaps":        {openfile.View{Found: true, At: at}, held},
		"where it was":   {openfile.View{Certain: true, Found: true, At: isLost.file.Location}, seen},
		"without an end": {openfile.View{Certain: true}, lost},
	} {
		s := &toldSystem{view: c.view}
		found := &snapshot{holders: []record{there, isLost, another}}
		s.attempt(-1, Request{}).search(found)
		q := s.query
		if !slices.Equal(q.Wanted, []*openfile.File{isLost.file}) || q.Since != 1 || q.TellRefused ||
			!slices.Equal(q.Accounted, []*openfile.File{there.file, another.file}) {
			t.Errorf("%s: it asks for %+v", what, q)
		}
		r := found.holders[1]
		location := isLost.file.Location
		if c.want == seen {
			location = c.view.At
		}
		if r.verdict != c.want || r.file.Location != location || r.file.FileID != isLost.file.FileID {
			t.Errorf("%s: %+v, %+v", what, r, r.file)
		}
	}
	// Of another namespace, or of several, nothing tells where it is.
	for what, lostOnes := range map[string][]record{
		"another namespace": {aRecord(t, inside, "10")}, "several": {isLost, aRecord(t, anothers, "9")},
	} {
		s := &toldSystem{view: openfile.View{Certain: true, Found: true, At: at}}
		found := &snapshot{holders: lostOnes}
		for i := range lostOnes {
			lostOnes[i].verdict = lost
		}
		s.attempt(-1, Request{}).search(found)
		if found.holders[0].verdict != held || found.holders[0].file.Location == at || !s.query.TellRefused {
			t.Errorf("%s: %+v", what, found.holders)
		}
	}
	s := &toldSystem{view: openfile.View{Complete: true}}
	if s.attempt(-1, Request{}).search(&snapshot{holders: []record{there}}); s.query.ShallStop != nil {
		t.Error("nothing is lost, and it searches")
	}
}

// TestSince: who was started before all of those that have locked moves no open file.
func TestSince(t *testing.T) {
	from := func(start uint64, m machine) record {
		r := aRecord(t, m, "9")
		r.file.LockerStart, r.verdict = start, lost
		return r
	}
	here := simMachine("1")
	for _, c := range []struct {
		of   []record
		want uint64
	}{
		{[]record{from(5, here)}, 5},
		{[]record{from(5, here), from(3, here), from(4, here)}, 3},
		{[]record{from(5, here), from(0, here)}, 0},
		{[]record{from(5, here), from(4, noClock)}, 0},
	} {
		s := new(toldSystem)
		s.attempt(-1, Request{}).search(&snapshot{holders: c.of})
		if got := s.query.Since; got != c.want {
			t.Errorf("%v: %d", c.of, got)
		}
	}
}

// TestProves: whose lock a search that has found nothing proves free.
func TestProves(t *testing.T) {
	refuses := func(user string) []openfile.Process {
		return []openfile.Process{{Start: 5, Users: []string{user}, Groups: []string{"7"}}}
	}
	for what, c := range map[string]struct {
		of         machine
		refused    []openfile.Process
		all, hides bool
		want       bool
	}{
		"ours":                           {of: simMachine("1"), refused: refuses("0"), want: true},
		"another's":                      {of: anothers, want: true},
		"another's, who refuses":         {of: anothers, refused: refuses("7")},
		"another's, a third refuses":     {of: anothers, refused: refuses("8"), want: true},
		"another's, root":                {of: anothers, all: true, want: true},
		"another's, root is refused":     {of: anothers, all: true, refused: refuses("8")},
		"another's, who may be hidden":   {of: anothers, hides: true},
		"another user namespace's":       {of: elsewhere},
		"another group's":                {of: inGroup, want: true},
		"another group's, which refuses": {of: inGroup, refused: refuses("0")},
		"in another namespace":           {of: inside},
		"in another namespace, root":     {of: inside, all: true, want: true},
	} {
		s := &toldSystem{all: c.all, hides: c.hides}
		v := openfile.View{Complete: true, Refused: c.refused}
		a, r := s.attempt(-1, Request{}), aRecord(t, c.of, "9")
		want := doubtful
		if c.want {
			want = over
		}
		if got := a.conclude(v, r); got != want || a.proves(v, r) != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
	// The children of root may have become any user's.
	s := &toldSystem{machine: anothers}
	a, r := s.attempt(-1, Request{}), aRecord(t, simMachine("1"), "9")
	if a.proves(openfile.View{Complete: true, Refused: refuses("8")}, r) {
		t.Error("root's, and a third user's refuses")
	}
}
