package fallback

import (
	"fmt"
	"hash/maphash"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// The runner: contenders run the shipped protocol over a directory in memory, one operation at a time, in every order
// there is, and each may be killed before each of its operations. Orders that lead to the same directory with every
// contender having seen the same things are followed once.

// An actor is a contender: a coroutine that stops before each operation on the world.
type actor struct {
	sim     *simulation
	index   int
	next    func() (string, bool)
	stop    func()
	yield   func(string) bool
	about   string // the operation it is about to do
	dead    bool
	done    bool
	orphan  bool // rules.shells: the actor is done or killed, and its shell has ended too
	seen    uint64
	phase   int
	nonces  int
	now     time.Time
	pausing bool
	reset   bool // the pause is one between two attempts
	version int
	held    map[string]bool
}

var seed = maphash.MakeSeed()

type killed struct{}

func (a *actor) name() string { return string(rune('A' + a.index)) }

func (a *actor) process() Owner { return Owner{PID: a.index + 1, Host: "here"} }

func (a *actor) owner() Owner {
	o := a.process()
	if a.sim.rules.shells {
		o.PID += 100
	}
	return o
}

// step announces an operation, waits until it is this actor's turn, and tells the story.
func (a *actor) step(what string) {
	if !a.yield(what) {
		panic(killed{})
	}
}

// saw records what an operation answered; together these answers make the actor's state.
func (a *actor) saw(answer string) {
	a.sim.tell(a, a.about+": "+answer)
	var h maphash.Hash
	h.SetSeed(seed)
	maphash.WriteComparable(&h, a.seen)
	h.WriteString(a.about)
	h.WriteString(answer)
	a.seen = h.Sum64()
}

// tell adds to the story, which is only kept when a run that failed is repeated for it.
func (s *simulation) tell(a *actor, what string) {
	if s.telling {
		s.story = append(s.story, a.name()+" "+readable(what))
	}
}

// changed counts a change. Those that others make after an actor has begun to look are what ends its pauses.
func (a *actor) changed() {
	a.sim.version++
	a.version++
}

func (a *actor) unaware() bool { return a.version != a.sim.version }

// readable shortens names for people: excl,1,,here,,,,,,,o1 is A's.
func readable(s string) string {
	for i := range 3 {
		for _, pid := range []int{i + 1, i + 101} {
			s = strings.ReplaceAll(s, fmt.Sprintf(",%d,,here,,,,,,,", pid), "-"+string(rune('A'+i)))
		}
	}
	return s
}

func (a *actor) List() ([]string, error) {
	a.step("lists")
	a.version = a.sim.version
	old := sortedNames(a.sim.names)
	names := old
	if a.sim.rules.torn {
		// Token names as of the first moment, the others as of a later one, or the other way round.
		a.step("lists on")
		names = nil
		later := sortedNames(a.sim.names)
		for _, n := range old {
			if isToken(n) {
				names = append(names, n)
			}
		}
		for _, n := range later {
			if !isToken(n) {
				names = append(names, n)
			}
		}
	}
	a.saw(strings.Join(names, " "))
	_, complaint := parse(names)
	a.reset = complaint == ""
	return names, nil
}

func yesno(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

func isToken(n string) bool {
	return n == free || strings.HasPrefix(n, "busy") || strings.HasPrefix(n, "excl")
}

func sortedNames(m map[string]string) (names []string) {
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func (a *actor) Exists(name string) (bool, error) {
	a.step("looks for " + name)
	_, ok := a.sim.names[name]
	a.saw(yesno(ok))
	return ok, nil
}

func (a *actor) Rename(old, new string) error {
	a.step("renames " + old + " to " + new)
	text, ok := a.sim.names[old]
	if !ok {
		a.saw("not there")
		if a.held[old] {
			a.sim.fail(a.name() + " was robbed of " + readable(old))
		}
		return fs.ErrNotExist
	}
	if _, ok := a.sim.names[new]; ok {
		a.sim.fail("a rename onto " + readable(new))
	}
	delete(a.sim.names, old)
	a.sim.names[new] = text
	a.changed()
	a.saw("done")
	delete(a.held, old)
	mine := "," + a.owner().String() + ","
	if strings.HasPrefix(new, "excl") {
		a.held[new] = true
	}
	if new == free && !strings.HasPrefix(old, "free") {
		for n := range a.sim.names {
			if !isToken(n) && strings.Contains(n, mine) {
				a.held[n] = true
			}
		}
	}
	return nil
}

func (a *actor) Create(name string) error {
	a.step("creates " + name)
	if _, ok := a.sim.names[name]; ok {
		a.saw("exists")
		return fs.ErrExist
	}
	a.sim.names[name] = ""
	a.sim.maker[name] = a.index
	a.changed()
	a.saw("done")
	return nil
}

func (a *actor) Remove(name string) error {
	a.step("removes " + name)
	if _, ok := a.sim.names[name]; !ok {
		a.saw("not there")
		return fs.ErrNotExist
	}
	delete(a.sim.names, name)
	delete(a.held, name)
	a.changed()
	a.saw("done")
	return nil
}

func (a *actor) Fate(o Owner) fate {
	i := o.PID - 1
	if a.sim.rules.shells && i >= 100 {
		i -= 100
	}
	who := a.sim.actors[i]
	a.step("asks whether " + who.name() + " lives")
	gone := who.dead
	if o.PID > 100 {
		gone = who.orphan
	}
	if o.PID == 1 && o.nonce[0] == 'b' && a.sim.lies < a.sim.rules.lies {
		a.sim.lies++
		gone = true
	}
	a.saw(yesno(!gone))
	if gone {
		return dead
	}
	return alive
}

// Now passes only in pauses, and fast enough that each is followed by a whole attempt.
func (a *actor) Now() time.Time { return a.now }

func (a *actor) Queue(Owner) int { return 1 }
func (a *actor) Leave()          {}
func (a *actor) Wake(bool)       {}

func (a *actor) Watch([]record, func(Owner) Sign) watched { return watched{} }

// Pause ends when something has changed. What a contender has seen before does not matter to it after a pause between
// two attempts, so that this is forgotten.
func (a *actor) Pause(time.Duration) bool {
	a.now = a.now.Add(lookEvery)
	if !a.reset {
		a.step("pauses")
		a.saw("looks again")
		return false
	}
	a.pausing = true
	a.step("waits")
	a.pausing = false
	a.seen = uint64(a.phase)
	a.sim.tell(a, "wakes")
	return false
}

// play does a script: X, S and P lock, x, s and p try to, u unlocks.
func (a *actor) play(script string) {
	l := New("", a.owner())
	s := space(a)
	if a.sim.rules.wrap != nil {
		s = a.sim.rules.wrap(a)
	}
	for _, step := range script {
		// Nothing but what it holds goes from one call to the next.
		a.phase++
		a.seen, a.nonces = uint64(a.phase), 0
		if step == 'u' {
			must(l.call(s).release())
			if len(a.held) > 0 {
				a.sim.fail(a.name() + " still holds a lock after releasing it")
			}
			continue
		}
		r := Request{Mode: Mode(strings.IndexRune("XSP", step&^0x20) + 1), Permits: a.sim.rules.permits}
		var deadline time.Time
		if step&0x20 != 0 {
			deadline = a.now
		}
		wait, err := l.call(s).acquire(r, a.process(), deadline)
		must(err)
		if wait == nil && len(a.held) != 1 {
			a.sim.fail(fmt.Sprintf("%s thinks that it has the lock: %v", a.name(), a.held))
		}
		if wait != nil && len(a.held) > 0 {
			a.sim.fail(a.name() + " holds a lock after failing to convert it")
		}
	}
}
