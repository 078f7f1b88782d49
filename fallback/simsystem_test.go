package fallback

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/flock/internal/openfile"
)

// A simFlock is what a flock process knows of the world: the system of its call.
type simFlock struct {
	*actor
	fd    int  // its descriptor of the locked file
	alone bool // whether it has opened that itself
}

// judgesBusy reports whether the owner that is asked about has the busy token.
func (s *simFlock) judgesBusy(o owner) bool {
	_, ok := s.world.names[newRecord(busy, o).name]
	return ok
}

func (w *world) process(pid int) *simProcess {
	if pid < 1 || pid > len(w.processes) {
		return &simProcess{}
	}
	return w.processes[pid-1]
}

func (w *world) at(p descriptor) *simFile { return w.process(p.pid).table[p.number] }

func (p descriptor) String() string { return fmt.Sprintf("%d of %c", p.number, 'A'+p.pid-1) }

func (f simFlags) has(m openfile.Mark) bool {
	return m == openfile.NoAtime && f.noAtime || m == openfile.NonBlock && f.nonBlock
}

func (f simFlags) with(m openfile.Mark, set bool) simFlags {
	switch m {
	case openfile.NoAtime:
		f.noAtime = set
	case openfile.NonBlock:
		f.nonBlock = set
	}
	return f
}

// lookAt announces a look at a process, unless the answer can never change: then the order does not matter.
func (s *simFlock) lookAt(pid int, what string) {
	if s.world.process(pid).alive {
		s.step(what)
	}
}

func (s *simFlock) Fate(o owner) fate {
	s.lookAt(o.pid, fmt.Sprintf("asks whether %c lives", 'A'+o.pid-1))
	gone := !s.world.process(o.pid).alive
	if !gone && o.pid == 1 && s.judgesBusy(o) && s.world.lies < s.world.rules.lies {
		s.world.lies++
		gone = true
	}
	s.saw(yesno(!gone))
	if gone {
		return dead
	}
	return alive
}

func (s *simFlock) Owner(pid int) (owner, error) { return ownerOf(pid), nil }

func ownerOf(pid int) owner { return owner{pid: pid, machine: here(), number: -1} }

// Now passes only in pauses, and fast enough that each is followed by a whole attempt.
func (s *simFlock) Now() time.Time { return s.now }

func (s *simFlock) Sleep(time.Duration) {
	s.now = s.now.Add(40 * time.Millisecond)
	s.step("pauses")
	s.saw("looks again")
	if s.listed {
		s.seen = uint64(s.phase)
	}
}

func (s *simFlock) pause([]record, bool) error {
	s.rest()
	return nil
}

func (s *simFlock) done() {}

// rest ends when something has changed. What a contender has seen before does not matter to it after a pause between two
// attempts, so that this is forgotten.
func (a *actor) rest() {
	a.now = a.now.Add(40 * time.Millisecond)
	a.pausing = true
	a.step("waits")
	a.pausing = false
	a.seen = uint64(a.phase)
	a.world.tell(a, "wakes")
}

// flags and setFlags are F_GETFL and F_SETFL.
func (s *simFlock) flags() simFlags {
	if s.isShared() { // otherwise nobody else can change them
		s.step("reads its flags")
	}
	f := s.table[s.fd].flags
	s.saw(fmt.Sprint(f))
	return f
}

// isShared reports whether another process has our open file.
func (s *simFlock) isShared() bool {
	for _, p := range s.world.processes {
		for _, f := range p.table {
			if p != s.simProcess && f == s.table[s.fd] {
				return true
			}
		}
	}
	return false
}

func (s *simFlock) setFlags(f simFlags) {
	s.step(fmt.Sprint("sets its flags to ", f))
	s.table[s.fd].flags = f
	s.changed()
	s.saw("done")
}

func (s *simFlock) Set() openfile.Mark {
	f := s.flags()
	m := openfile.NoAtime
	if s.foreign {
		m = openfile.NonBlock
		if f.nonBlock {
			return openfile.None
		}
	}
	if !f.has(m) {
		s.setFlags(f.with(m, true))
	}
	return m
}

func (s *simFlock) Clear(m openfile.Mark) {
	if f := s.flags(); f.has(m) {
		s.setFlags(f.with(m, false))
	}
}

func (s *simFlock) Rename(old, new string) error {
	err := s.actor.Rename(old, new)
	if new == free {
		s.released(old, err)
	}
	return err
}

func (s *simFlock) Remove(name string) error {
	err := s.actor.Remove(name)
	s.released(name, err)
	return err
}

// released notes that a record is gone, as err says. A flock that has opened the file itself thinks that nobody else has it
// then.
func (s *simFlock) released(name string, err error) {
	word, rest, _ := strings.Cut(name, ",")
	o, _ := parseOwner(rest)
	if err != nil || !s.alone || word == busy || o.pid != s.pid {
		return
	}
	if s.isShared() {
		s.world.fail(s.name() + " releases a lock that somebody else has, too")
	}
	s.table[s.fd].lock = 0
}

func (s *simFlock) Has(m openfile.Mark) bool { return s.flags().has(m) }

func (s *simFlock) At(search openfile.Search, p descriptor) openfile.State {
	s.lookAt(p.pid, fmt.Sprint("looks at ", p))
	f := s.world.at(p)
	found := f != nil && (search.Mark == openfile.None || f.flags.has(search.Mark))
	s.saw(yesno(found))
	switch {
	case found:
		return openfile.Found
	case !s.world.process(p.pid).alive:
		return openfile.Gone
	}
	return openfile.Absent
}

// In looks at one number after the other in a process that moves its descriptors, several times: so it may miss an open file,
// or see it twice. The scenarios move those under 7, 8 and 9.
func (s *simFlock) In(search openfile.Search, pid int, _ bool) (numbers []int, visible bool) {
	const most = 3
	isEnough := false
	for passes := 0; passes < most && !isEnough; passes++ {
		s.lookAt(pid, fmt.Sprintf("looks into %c", 'A'+pid-1))
		moves := s.moves(pid)
		var found []int
		for n := range 20 {
			if moves && n >= 7 && n <= 9 {
				s.saw(fmt.Sprint(found))
				s.step(fmt.Sprintf("looks at %d of %c", n, 'A'+pid-1))
			}
			f := s.world.at(descriptor{pid, n})
			isOther := search.Ours != nil && !s.world.rules.noKcmp && f != s.world.at(descriptor{s.pid, s.fd})
			if f != nil && f.flags.has(search.Mark) && !isOther {
				found = append(found, n)
			}
		}
		numbers = append(numbers, found...)
		movesStill := s.moves(pid)
		s.saw(fmt.Sprint(found, moves, movesStill))
		switch {
		case len(found) == 0:
		case search.Accept == nil, search.OnlyStill && movesStill:
			isEnough = true
		default:
			for _, n := range found {
				isEnough = search.Accept(pid, n) || isEnough
			}
		}
		if !moves {
			break
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), true
}

func (s *simFlock) Unmarked(search openfile.Search, p descriptor) bool {
	s.step(fmt.Sprint("looks whether there is no mark at ", p))
	f := s.world.at(p)
	s.saw(yesno(f != nil && !f.flags.has(search.Mark)))
	return f != nil && !f.flags.has(search.Mark)
}

// Moves tells the truth if the rules say so: a shell that does not wait for flock may be moving its descriptors. Otherwise it
// is always seen between two moves.
func (s *simFlock) Moves(pid int) bool {
	if !s.world.rules.moves {
		return false
	}
	s.step(fmt.Sprintf("looks whether %c runs", 'A'+pid-1))
	moves := s.moves(pid)
	s.saw(yesno(moves))
	return moves
}

// Activity returns how far the script of a shell has come. This program has several threads.
func (s *simFlock) Activity(pid int) string {
	word := ""
	for _, a := range s.world.actors {
		if a.pid == pid && !a.isFlock && !s.moves(pid) {
			word = fmt.Sprint(a.phase, a.about, a.done)
		}
	}
	s.saw("at " + word)
	return word
}

func (s *simFlock) KeepStill(words map[int]string) {
	s.step("looks who has run")
	for _, pid := range slices.Sorted(maps.Keys(words)) {
		if word := words[pid]; word == "" || word != s.Activity(pid) {
			delete(words, pid)
		}
	}
}

func (s *simFlock) moves(pid int) bool {
	return s.world.rules.moves && slices.ContainsFunc(s.world.actors, func(a *actor) bool {
		return a.pid == pid && !a.isFlock && !a.done && (a.waits == nil || a.waits.done)
	})
}

func (s *simFlock) Compare(_ openfile.Search, p, q descriptor, _ bool) (r openfile.Comparison) {
	if s.world.rules.noKcmp {
		return openfile.Unknown
	}
	s.step(fmt.Sprintf("compares %v with %v", p, q))
	switch f, g := s.world.at(p), s.world.at(q); {
	case f == nil || g == nil:
		r = openfile.Unsure
	case f == g:
		r = openfile.Equal
	default:
		r = openfile.Different
	}
	s.saw(fmt.Sprint(r))
	return r
}

func (s *simFlock) CompareOurs(search openfile.Search, p descriptor, _ bool) openfile.Comparison {
	if r := s.Compare(search, p, descriptor{s.pid, s.fd}, true); r != openfile.Unknown {
		return r
	}
	other := openfile.NonBlock
	if search.Mark == openfile.NonBlock {
		return openfile.Unknown
	}
	before := s.flags()
	defer s.setFlags(before)
	for _, set := range []bool{!before.nonBlock, before.nonBlock, !before.nonBlock} {
		s.setFlags(before.with(other, set))
		s.step(fmt.Sprint("looks at the flags of ", p))
		f := s.world.at(p)
		follows := f != nil && f.flags.nonBlock == set
		s.saw(yesno(follows))
		switch {
		case f == nil:
			return openfile.Unsure
		case !follows:
			return openfile.Different
		}
	}
	return openfile.Equal
}

func (s *simFlock) Processes() (pids []int, err error) {
	s.step("lists the processes")
	for _, p := range s.world.processes {
		if p.alive {
			pids = append(pids, p.pid)
		}
	}
	s.saw(fmt.Sprint(pids))
	return pids, nil
}

func (s *simFlock) Last() (int, error) {
	if s.world.rules.noLast {
		return 0, errors.New("not told")
	}
	s.step("asks for the last process id")
	last := len(s.world.processes)
	s.saw(strconv.Itoa(last))
	return last, nil
}

func (s *simFlock) IsProcess(int) bool { return true }

func (s *simFlock) Maker(pid int) int { return s.world.process(pid).parent }

func (s *simFlock) Age(owner) time.Duration { return 0 }

func (s *simFlock) MayDescend(pid int) bool {
	for p := s.world.process(pid); p.pid > s.pid; p = s.world.process(p.parent) {
		if p.parent == s.pid {
			return true
		}
	}
	return false
}

// The scripts of shells: words, and scripts in brackets.
//
//	open9        opens the file under the number 9
//	move9-7      moves the descriptor
//	copy9-7      copies it
//	close9       closes it
//	X9 S9 P9     starts flock 9, flock -s 9, flock --permits N 9, and waits for it; ends the script if that fails
//	x9 s9 p9     the same with -n; with ! behind, it must fail, with + succeed
//	u9           flock -u 9
//	X S P u      locks for the process itself, as a program in Go does; x s p with -n
//	X(...)       flock FILE, with the script as the command; also S and P
//	FX(...)      flock -F FILE, with the script as the command; also S and P
//	user         becomes a user who does not own the file
//	work         does something
//	orphan       kills the flock that has started it
//	&(...)       starts the script in the background
type simWord struct {
	verb      string
	number    int
	rest      string
	isCommand bool
	inner     []simWord
}

func parseScript(script string) (words []simWord) {
	for script = strings.TrimSpace(script); script != ""; script = strings.TrimSpace(script) {
		n := strings.IndexAny(script, " (")
		if n < 0 {
			n = len(script)
		}
		w := simWord{}
		text := script[:n]
		script = script[n:]
		if strings.HasPrefix(script, "(") {
			depth, end := 0, 0
			for i, c := range script {
				switch c {
				case '(':
					depth++
				case ')':
					if depth--; depth == 0 {
						end = i
					}
				}
				if end > 0 {
					break
				}
			}
			w.isCommand = true
			w.inner = parseScript(script[1:end])
			script = script[end+1:]
		}
		w.verb = strings.TrimRight(text, "0123456789-!+")
		digits := strings.Trim(text[len(w.verb):], "!+")
		number, to, _ := strings.Cut(digits, "-")
		w.number, _ = strconv.Atoi(number)
		w.rest = to + strings.Trim(text[len(w.verb):], "0123456789-")
		words = append(words, w)
	}
	return words
}

// play runs a script, and reports whether it came to its end.
func (a *actor) play(script []simWord) bool {
	for _, w := range script {
		// Nothing but what it has open goes from one word to the next.
		a.phase++
		a.seen, a.nonces = uint64(a.phase), 0
		switch {
		case w.verb == "open":
			a.step("opens " + strconv.Itoa(w.number))
			a.world.files++
			a.close(w.number)
			a.table[w.number] = &simFile{id: a.world.files}
			a.changed()
		case w.verb == "move", w.verb == "copy":
			a.step(fmt.Sprint(w.verb, " ", w.number, " to ", w.rest))
			to, _ := strconv.Atoi(w.rest)
			f := a.table[w.number]
			a.close(to)
			if a.table[to] = f; w.verb == "move" {
				delete(a.table, w.number)
			}
			a.changed()
		case w.verb == "close":
			a.step("closes " + strconv.Itoa(w.number))
			a.close(w.number)
			a.changed()
		case w.verb == "work":
			a.step("works")
		case w.verb == "user":
			a.foreign = true
		case w.verb == "orphan":
			a.step("kills its flock")
			for _, flock := range a.world.actors {
				if flock.pid == a.parent && !flock.done {
					flock.kill()
				}
			}
			a.changed()
		case w.verb == "&":
			a.step("starts a child")
			a.world.start(a, func(child *actor) { child.failed = !child.play(w.inner) })
			a.changed()
		case w.isCommand:
			if !a.wait(a.spawn(func(f *actor) bool { return f.runCommand(modeOfVerb(w.verb), w.verb[0] != 'F', w.inner) })) {
				return false
			}
		case w.verb == "u" && w.number > 0:
			if !a.wait(a.spawn(func(f *actor) bool { f.unlock(w.number); return true })) {
				return false
			}
		case w.number == 0:
			a.lockSelf(w.verb)
		default:
			try := strings.ToLower(w.verb) == w.verb
			ok := a.wait(a.spawn(func(f *actor) bool { return f.lockNumber(modeOfVerb(w.verb), w.number, try) }))
			switch {
			case ok && w.rest == "!":
				a.world.fail(a.name() + " should not get in")
			case !ok && w.rest == "+":
				a.world.fail(a.name() + " should get in")
			}
			if ok == (w.rest == "!") {
				return false
			}
		}
	}
	return true
}

func modeOfVerb(verb string) Mode {
	return Mode(strings.Index("XSP", strings.ToUpper(strings.TrimPrefix(verb, "F"))) + 1)
}

// spawn starts a flock.
func (a *actor) spawn(run func(*actor) bool) *actor {
	a.step("starts flock")
	f := a.world.start(a, func(f *actor) { f.isFlock = true; f.failed = !run(f) })
	a.changed()
	return f
}

// wait waits for a child, and reports whether it succeeded.
func (a *actor) wait(child *actor) bool {
	a.waits = child
	a.step("waits for its flock")
	a.saw(yesno(!child.failed))
	return !child.failed
}

// lockOf returns the Lock of a flock for a descriptor, and its system.
func (a *actor) lockOf(fd int, alone bool) (*Lock, contender) {
	o := ownerOf(a.pid)
	o.number, o.file, o.opened = fd, "f", alone
	for p := a.world.process(a.parent); !alone && p.alive && p.table[fd] == a.table[fd]; p = a.world.process(p.parent) {
		o.pid = p.pid // the eldest ancestor that has the open file
	}
	s := &simFlock{a, fd, alone}
	l := &Lock{dir: "dir", owner: o, file: openFile{fd: fd, marked: true, inherited: !alone}}
	if a.world.rules.wrap != nil {
		return l, a.world.rules.wrap(s)
	}
	return l, s
}

func (a *actor) callOf(l *Lock, s contender, r Request) *call {
	c := newCall(l, r, ownerOf(a.pid), s, s)
	c.isLocal, c.wake = true, func(bool) {}
	return c
}

// acquire takes the lock, as the kernel's view of it says at the same time.
func (a *actor) acquire(l *Lock, s contender, mode Mode, try bool) bool {
	f := a.table[l.file.fd]
	if f.lock != 0 {
		a.step("is inside")
	}
	switch {
	case f.lock == mode && mode != Permit: // taken again, it is never lost
	case f.lock == Exclusive && mode == Shared:
		f.lock = Shared
	default:
		f.lock = 0 // a conversion may lose it
	}
	r := Request{Mode: mode, Permits: a.world.rules.permits}
	if try {
		r.Try = true
	}
	c := a.callOf(l, s, r)
	blockers, err := c.acquire(s)
	must(err)
	l.held = newRecord(wordOf(mode), c.mine)
	if f.lock = 0; blockers == nil {
		f.lock = mode
	}
	return blockers == nil
}

// lockSelf locks or unlocks for the process itself. The kernel has no such lock; a file that only the process has stands for
// it.
func (a *actor) lockSelf(verb string) {
	const fd = -1
	if a.table[fd] == nil {
		a.table[fd] = &simFile{id: -a.pid}
	}
	var s contender = &simFlock{a, fd, false}
	if a.world.rules.wrap != nil {
		s = a.world.rules.wrap(s.(*simFlock))
	}
	l := &Lock{dir: "dir", owner: ownerOf(a.pid), ofSelf: true, file: openFile{fd: fd}}
	if verb == "u" {
		a.step("is inside")
		a.table[fd].lock = 0
		must(a.callOf(l, s, Request{}).release())
	} else {
		a.acquire(l, s, modeOfVerb(verb), strings.ToLower(verb) == verb)
	}
}

func (a *actor) lockNumber(mode Mode, fd int, try bool) bool {
	if a.table[fd] == nil {
		return false
	}
	l, s := a.lockOf(fd, false)
	return a.acquire(l, s, mode, try)
}

func (a *actor) unlock(fd int) {
	l, s := a.lockOf(fd, false)
	a.table[fd].lock = 0
	must(a.callOf(l, s, Request{}).release())
}

// runCommand is flock with a file and a command.
func (a *actor) runCommand(mode Mode, forks bool, command []simWord) bool {
	a.step("opens the file")
	a.world.files++
	const fd = 3
	a.table[fd] = &simFile{id: a.world.files}
	a.changed()
	l, s := a.lockOf(fd, true)
	l.owner.fixed = forks
	if !a.acquire(l, s, mode, false) {
		return false
	}
	if !forks {
		a.isFlock = false
		return a.play(command)
	}
	a.phase++
	a.step("starts the command")
	child := a.world.start(a, func(child *actor) { child.failed = !child.play(command) })
	a.changed()
	l.file.child, l.file.started = child.pid, a.now
	a.wait(child)
	a.phase++
	a.seen, a.nonces = uint64(a.phase), 0
	must(a.callOf(l, s, Request{}).unlock())
	return true
}
