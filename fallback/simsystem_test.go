package fallback

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.org/flock/fallback/openfile"
)

// A simFlock is what a flock process knows of the world.
type simFlock struct {
	*actor
	fd     int  // its descriptor of the locked file; -1: the lock is a lifeline's
	waited bool // once: who has waited for a while may search
	now    time.Duration
}

func (a *actor) List() ([]string, error) {
	a.step("lists")
	if !a.looked {
		a.looked, a.version = true, a.world.version
	}
	old := slices.Sorted(maps.Keys(a.world.names))
	names := old
	if a.world.rules.torn {
		// Token names as of the first moment, the others as of a later one.
		a.step("lists on")
		names = slices.DeleteFunc(slices.Clone(old), func(n string) bool { return !isToken(n) })
		for _, n := range slices.Sorted(maps.Keys(a.world.names)) {
			if !isToken(n) {
				names = append(names, n)
			}
		}
	}
	a.saw(strings.Join(names, " "))
	return names, nil
}

func isToken(name string) bool { return name == free || strings.HasPrefix(name, busy) }

func yesno(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

func (a *actor) Rename(old, new string) error {
	a.step("renames " + old + " to " + new)
	if a.fails(failBefore) {
		return syscall.EIO
	}
	n, ok := a.world.names[old]
	if !ok {
		a.saw("not there")
		return fs.ErrNotExist
	}
	if _, ok := a.world.names[new]; ok {
		a.world.fail("a rename onto " + readable(new))
	}
	delete(a.world.names, old)
	a.world.names[new] = n
	a.world.text[new] = a.world.text[old]
	a.changed()
	if a.fails(failAfter) {
		return syscall.EIO
	}
	a.saw("done")
	return nil
}

func (a *actor) Create(name string) error { return a.create(name, &simName{}) }

func (a *actor) Make(name string) error {
	return a.create(name, &simName{fifo: strings.HasPrefix(name, newName)})
}

func (a *actor) create(name string, n *simName) error {
	if !n.fifo || a.world.rules.births {
		a.step("creates " + name)
	}
	if a.fails(failBefore) {
		return syscall.EIO
	}
	if _, ok := a.world.names[name]; ok {
		a.saw("exists")
		return fs.ErrExist
	}
	a.world.names[name] = n
	a.world.text[name] = ""
	a.world.maker[name] = int(a.start)
	a.changed()
	if a.fails(failAfter) {
		return syscall.EIO
	}
	a.saw("done")
	return nil
}

func (a *actor) Remove(name string) error {
	a.step("removes " + name)
	if a.fails(failBefore) {
		return syscall.EIO
	}
	if _, ok := a.world.names[name]; !ok {
		a.saw("not there")
		return fs.ErrNotExist
	}
	delete(a.world.names, name)
	a.changed()
	if a.fails(failAfter) {
		return syscall.EIO
	}
	a.saw("done")
	return nil
}

func (s *simFlock) Reopen(bool) error { return nil }
func (s *simFlock) MoveAway() error   { return fs.ErrInvalid }
func (s *simFlock) Machine() machine  { return s.machine }

// The handle of a lifeline is the index of its name among those that the actor has opened.
func (s *simFlock) OpenLifeline(name string) (lifeline, error) {
	if s.world.rules.births {
		s.step("opens " + name)
	}
	n := s.world.names[name]
	s.saw(yesno(n != nil))
	if n == nil {
		return 0, fs.ErrNotExist
	}
	s.fifos[n] = false
	s.opened = append(s.opened, n)
	s.changed()
	return lifeline(len(s.opened) - 1), nil
}

func (s *simFlock) CloseLifeline(l lifeline) {
	if isNamed := slices.Contains(slices.Collect(maps.Values(s.world.names)), s.opened[l]); isNamed {
		s.step("closes its lifeline")
	}
	delete(s.fifos, s.opened[l])
	s.changed()
	s.saw("done")
}

// Ask answers what the kernel of this process knows, by its mount.
func (s *simFlock) Ask(name string) (is answer) {
	n := s.world.names[name]
	if _, ours := s.fifos[n]; !ours {
		s.step("asks " + name)
		n = s.world.names[name]
	}
	switch {
	case n == nil:
		is = noName
	case !n.fifo:
		is = unknown
	case s.world.hasReader(n, s.machine):
		is = hasReader
	default:
		is = noReader
	}
	s.saw(fmt.Sprint(is))
	return is
}

// Ring has no effect: who waits sees every change.
func (s *simFlock) Ring(string) {}

// Wait ends when something has changed, and the first time also when nothing has. What a contender has seen before does
// not matter to it after that, so that it is forgotten.
func (s *simFlock) Wait(context.Context, lifeline, []string, time.Duration) (bool, error) {
	if !s.waited && !s.world.rules.until.IsZero() { // the short scripts are run to their end: they have no time for it
		s.waited, s.version = true, -1
	}
	s.rest()
	s.now += time.Minute // what it has found in vain is forgotten, too
	return true, nil
}

func (a *actor) rest() {
	a.pausing = true
	a.step("waits")
	a.pausing, a.looked = false, false
	a.seen = uint64(a.phase)
	a.world.tell(a, "wakes")
}

func (s *simFlock) Now() time.Time      { return time.Unix(1, 0).Add(s.now) }
func (s *simFlock) Sleep(time.Duration) { s.rest() }
func (s *simFlock) ID() openfile.FileID { return openfile.FileID{Device: 1, Inode: 1} }

func (s *simFlock) Openers([]record) (map[string][]int, openfile.Telling) {
	return nil, openfile.TellsNothing
}
func (s *simFlock) HidesProcesses() bool { return false }
func (s *simFlock) SeesAll() bool        { return s.world.rules.seesAll }

// process returns the process that has an id now: that of a process that has ended may come again.
func (w *world) process(pid int) *simProcess {
	for _, p := range slices.Backward(w.processes) {
		if p.pid == pid && p.alive {
			return p
		}
	}
	return &simProcess{}
}

func (s *simFlock) Locate() (openfile.Location, error) {
	p := openfile.Location{PID: s.pid, Start: s.start, Number: s.fd}
	for parent := s.world.process(s.parent); parent.alive && parent.table[s.fd] == s.table[s.fd]; {
		p.PID, p.Start = parent.pid, parent.start
		parent = s.world.process(parent.parent)
	}
	return p, nil
}

// refuses reports whether a process may not be looked into.
func (s *simFlock) refuses(p *simProcess) bool {
	return p.machine.user != s.machine.user && !s.world.rules.seesAll
}

func (s *simFlock) Marked(f *openfile.File) bool {
	s.step("reads its mark")
	ours := s.table[s.fd]
	is := ours.mark == f.Mark && ours.signal == f.Signal
	s.saw(yesno(is))
	return is
}

func (s *simFlock) Mark(signal int, m openfile.Mark) error {
	s.step(fmt.Sprint("sets its signal to ", signal))
	s.table[s.fd].signal = signal
	s.step("sets its mark")
	s.table[s.fd].mark = m
	s.changed()
	s.saw("done")
	return nil
}

func (s *simFlock) Unmark() {
	s.step("clears its mark")
	s.table[s.fd].mark = 0
	s.changed()
	s.step("clears its signal")
	s.table[s.fd].signal = 0
	s.saw("done")
}

func (s *simFlock) At(f *openfile.File, sharesClock bool) openfile.Answer {
	s.step(fmt.Sprint("looks at ", f.Number, " of ", f.PID))
	is := s.at(f, sharesClock)
	s.saw(fmt.Sprint(is))
	return is
}

func (s *simFlock) at(f *openfile.File, sharesClock bool) openfile.Answer {
	p := s.world.process(f.PID)
	other := p.table[f.Number]
	switch {
	case p.alive && s.refuses(p):
		if !sharesClock || f.Start == 0 || p.start == f.Start {
			return openfile.Unknown
		}
	case other != nil && other.mark == f.Mark:
		return openfile.There
	}
	return openfile.NotThere
}

func (s *simFlock) Search(q openfile.Query) (v openfile.View) {
	s.step("searches")
	v = openfile.View{Certain: true, Complete: true}
	accounted := []*simFile{s.table[s.fd]}
	locations := []openfile.Location{{PID: s.pid, Start: s.start, Number: s.fd}}
	for _, f := range q.Accounted {
		accounted, locations = append(accounted, s.world.process(f.PID).table[f.Number]), append(locations, f.Location)
	}
	for _, p := range s.world.processes {
		switch {
		case !p.alive:
		case p.machine.pidNS != s.machine.pidNS && !s.world.rules.seesAll:
		case s.refuses(p):
			v.Refused = append(v.Refused, openfile.Process{Start: p.start, Users: []string{p.machine.user.number}})
		case !v.Found:
			s.searchIn(p, q.Wanted, locations, accounted, &v)
		}
	}
	s.saw(fmt.Sprint(v))
	return v
}

// searchIn looks into a process for an open file that is wanted.
func (s *simFlock) searchIn(p *simProcess, wanted []*openfile.File, locations []openfile.Location, accounted []*simFile,
	v *openfile.View) {
	for _, number := range slices.Sorted(maps.Keys(p.table)) {
		f, at := p.table[number], openfile.Location{PID: p.pid, Start: p.start, Number: number}
		is := slices.ContainsFunc(wanted, func(w *openfile.File) bool { return w.Mark == f.mark })
		if !is || slices.Contains(locations, at) || !s.world.rules.noKcmp && slices.Contains(accounted, f) {
			continue
		}
		v.Found, v.At, v.Certain = true, at, !s.world.rules.noKcmp
		return
	}
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
//	work         does something
//	orphan       kills the flock that has started it
//	&(...)       starts the script in the background
//	sub(...)     runs the script in a process of its own, and waits for that
//	as1          is another user's
//	ns7-2        runs in the pid namespace of number 7 whose process 1 was started at 2
//	far mounted  runs on another machine, or sees the directory by another mount
//	boot         the machine stops, and starts again
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
			end := closing(script)
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

// closing returns where the bracket at the beginning of a script is closed.
func closing(script string) int {
	depth := 0
	for i, c := range script {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	panic("no closing bracket: " + script)
}

// play runs a script, and reports whether it came to its end.
func (a *actor) play(script []simWord) bool {
	for _, w := range script {
		// Nothing but what it has open goes from one word to the next.
		a.phase++
		a.seen, a.nonces = uint64(a.phase), 0
		ok := true
		switch {
		case w.isCommand && w.verb != "&" && w.verb != "sub":
			ok = a.wait(a.spawn(func(f *actor) bool {
				return f.runCommand(modeOfVerb(w.verb), w.verb[0] != 'F', w.inner)
			}))
		case a.playWord(w):
		case w.number == 0:
			a.lockSelf(w.verb)
		default:
			ok = a.playFlock(w)
		}
		if !ok {
			return false
		}
	}
	return true
}

// playWord plays a word that is about no lock, and reports whether it is one.
func (a *actor) playWord(w simWord) bool {
	switch w.verb {
	case "open":
		a.step("opens " + strconv.Itoa(w.number))
		a.world.files++
		a.close(w.number)
		a.table[w.number] = &simFile{id: a.world.files}
	case "move", "copy":
		a.step(fmt.Sprint(w.verb, " ", w.number, " to ", w.rest))
		to, _ := strconv.Atoi(w.rest)
		f := a.table[w.number]
		a.close(to)
		if a.table[to] = f; w.verb == "move" {
			delete(a.table, w.number)
		}
	case "close":
		a.step("closes " + strconv.Itoa(w.number))
		a.close(w.number)
	case "work":
		a.step("works")
		return true
	case "orphan":
		a.step("kills its flock")
		for _, flock := range a.world.actors {
			if flock.pid == a.parent && !flock.done {
				flock.kill()
			}
		}
	case "&":
		a.step("starts a child")
		a.world.start(a, func(child *actor) { child.failed = !child.play(w.inner) })
	case "as":
		a.machine.user.number = strconv.Itoa(w.number)
		return true
	case "ns":
		a.machine.pidNS = pidNamespace{strconv.Itoa(w.number), w.rest}
		return true
	case "sub":
		a.wait(a.spawn(func(child *actor) bool { return child.play(w.inner) }))
		return true
	case "far":
		a.machine.host, a.machine.id, a.machine.boot = "far", "far", "far"
		return true
	case "mounted":
		a.machine.device = "mounted"
		return true
	case "boot":
		a.step("starts the machine again")
		a.world.boots++
		for _, other := range a.world.actors {
			if other != a && !other.done && other.machine == a.machine {
				other.kill()
			}
		}
		clear(a.table)
		a.machine.boot = fmt.Sprint(a.world.boots)
	default:
		return false
	}
	a.changed()
	return true
}

// playFlock plays a flock with a descriptor number.
func (a *actor) playFlock(w simWord) bool {
	if w.verb == "u" {
		return a.wait(a.spawn(func(f *actor) bool { f.unlock(w.number); return true }))
	}
	try := strings.ToLower(w.verb) == w.verb
	ok := a.wait(a.spawn(func(f *actor) bool { return f.lockNumber(modeOfVerb(w.verb), w.number, try) }))
	switch {
	case ok && w.rest == "!":
		a.world.fail(a.name() + " should not get in")
	case !ok && w.rest == "+":
		a.world.fail(a.name() + " should get in")
	}
	return ok != (w.rest == "!")
}

func modeOfVerb(verb string) Mode {
	return Mode(strings.Index("XSP", strings.ToUpper(strings.TrimPrefix(verb, "F"))) + 1)
}

// spawn starts a flock.
func (a *actor) spawn(run func(*actor) bool) *actor {
	a.step("starts flock")
	f := a.world.start(a, func(f *actor) { f.failed = !run(f) })
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

// attempt returns a call with the lock of an actor.
func (a *actor) attempt(l *Lock, r Request) *attempt {
	var s system = &simFlock{actor: a, fd: l.fd}
	if a.world.rules.wrap != nil {
		s = a.world.rules.wrap(s.(*simFlock))
	}
	return newAttempt(context.Background(), s, l, r)
}

// must asserts that there is no error, unless operations may fail.
func (a *actor) must(err error) {
	if a.world.rules.faults == 0 {
		must(ignoreAbsent(err))
	}
}

// acquire takes the lock, as the kernel's view of it says at the same time.
func (a *actor) acquire(l *Lock, f *simFile, mode Mode, try bool) bool {
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
	attempt := a.attempt(l, Request{Mode: mode, Permits: a.world.rules.permits, Try: try})
	isIn, _, err := attempt.acquire(nil)
	a.must(err)
	if f.lock = 0; isIn {
		f.lock, f.permit = mode, attempt.permit
	}
	l.end(attempt, isIn)
	return isIn
}

// lockSelf locks or unlocks for the process itself. The kernel has no such lock; a file that only the process has
// stands for it.
func (a *actor) lockSelf(verb string) {
	const fd = -1
	if a.table[fd] == nil {
		a.table[fd] = &simFile{id: -a.pid}
		a.own = &Lock{dir: "dir", fd: -1}
	}
	if verb != "u" {
		a.acquire(a.own, a.table[fd], modeOfVerb(verb), strings.ToLower(verb) == verb)
		return
	}
	a.step("is inside")
	a.table[fd].lock = 0
	if a.own.self.name != "" {
		a.must(a.attempt(a.own, Request{}).release())
	}
}

func (a *actor) lockNumber(mode Mode, fd int, try bool) bool {
	return a.table[fd] != nil && a.acquire(&Lock{dir: "dir", fd: fd}, a.table[fd], mode, try)
}

func (a *actor) unlock(fd int) {
	a.table[fd].lock = 0
	a.must(a.attempt(&Lock{dir: "dir", fd: fd}, Request{}).release())
}

// runCommand is flock with a file and a command.
func (a *actor) runCommand(mode Mode, forks bool, command []simWord) bool {
	a.step("opens the file")
	a.world.files++
	const fd = 3
	a.table[fd] = &simFile{id: a.world.files}
	a.changed()
	l := &Lock{dir: "dir", fd: -1}
	if !a.acquire(l, a.table[fd], mode, false) {
		return false
	}
	a.fifos[a.opened[l.self.lifeline]] = true
	if !forks {
		return a.play(command)
	}
	a.phase++
	a.step("starts the command")
	child := a.world.start(a, func(child *actor) { child.failed = !child.play(command) })
	a.changed()
	a.wait(child)
	a.phase++
	a.seen, a.nonces = uint64(a.phase), 0
	a.close(fd)
	a.must(a.attempt(l, Request{}).release())
	return true
}
