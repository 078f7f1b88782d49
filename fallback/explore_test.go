package fallback

import (
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
)

// A simulation is one run.
type simulation struct {
	rules   rules
	names   map[string]string // name -> what is written in it; sorted when listed
	maker   map[string]int    // name -> who created it, for the recipes that look at its age
	version int               // counts changes, to wake those who pause
	actors  []*actor
	lies    int
	broken  string
	telling bool
	story   []string
}

// rules are what differs between scenarios.
type rules struct {
	permits int
	crashes int  // how many contenders may be killed
	lies    int  // how often A, having the busy token, is thought dead though it lives
	torn    bool // whether a listing may show some names as they were and others as they are
	shells  bool // whether the owner is not the actor, as when flock locks a descriptor of its shell
	wrap    func(*actor) space
	script  func(*actor, string) // instead of the protocol
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (s *simulation) fail(what string) {
	if s.broken == "" {
		s.broken = what
	}
}

// check asserts exclusion.
func (s *simulation) check() {
	permits, all, exclusive := 0, 0, 0
	var who []string
	for _, a := range s.actors {
		mine := map[kind]bool{}
		for n := range a.held {
			k, _, _ := strings.Cut(n, ",")
			mine[kind(k)] = true
		}
		if len(mine) == 0 {
			continue
		}
		who = append(who, a.name())
		all++
		if mine[kindExcl] {
			exclusive++
		}
		if mine[kindPermit] {
			permits++
		}
	}
	if exclusive > 0 && all > 1 || s.rules.permits > 0 && permits > s.rules.permits {
		s.fail("inside at once: " + strings.Join(who, " and "))
	}
}

func newSimulation(r rules, scripts []string, path []byte, telling bool) *simulation {
	s := &simulation{rules: r, telling: telling, names: map[string]string{}, maker: map[string]int{}}
	if r.script == nil {
		s.names[free] = ""
	}
	for i, script := range scripts {
		s.add(i, script)
	}
	for _, c := range path {
		s.do(c)
	}
	return s
}

func (s *simulation) add(i int, script string) *actor {
	a := &actor{sim: s, index: i, held: map[string]bool{}, now: time.Unix(1, 0)}
	s.actors = append(s.actors, a)
	a.next, a.stop = iter.Pull(func(yield func(string) bool) {
		defer func() {
			if e := recover(); e != nil && e != (killed{}) {
				panic(e)
			}
		}()
		a.yield = yield
		if s.rules.script != nil {
			s.rules.script(a, script)
		} else {
			a.play(script)
		}
	})
	a.run()
	return a
}

// run lets the actor do what it is about to do and go on to its next operation.
func (a *actor) run() {
	nonce = func() string {
		a.nonces++
		// The actor's own comes second in a call, see acquire.
		return fmt.Sprintf("%c%d", "ob"[1-a.nonces%2], a.phase)
	}
	about, more := a.next()
	a.about, a.done = about, !more
}

func (a *actor) kill(how string) {
	a.sim.tell(a, "is killed"+how)
	a.dead = true
	a.stop()
	a.done, a.pausing = true, false
	if !a.sim.rules.shells {
		clear(a.held)
	}
	a.sim.version++
}

// choices are the steps that can come next: actor i goes on, is killed (+10), or its shell ends (+20).
func (s *simulation) choices() (cs []byte) {
	crashed := 0
	for _, a := range s.actors {
		if a.dead {
			crashed++
		}
	}
	for i, a := range s.actors {
		if !a.done && !(a.pausing && !a.unaware()) {
			cs = append(cs, byte(i))
		}
	}
	for i, a := range s.actors {
		if !a.done && crashed < s.rules.crashes {
			cs = append(cs, byte(i+10))
		}
		if s.rules.shells && a.done && !a.orphan {
			cs = append(cs, byte(i+20))
		}
	}
	return cs
}

func (s *simulation) do(choice byte) {
	a := s.actors[choice%10]
	switch choice / 10 {
	case 0:
		a.run()
	case 1:
		a.kill(" before it " + a.about)
	case 2:
		a.orphan = true
		clear(a.held)
		s.version++
		s.tell(a, "is outlived by its shell no longer")
	}
	s.check()
}

func (s *simulation) key() uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	maphash.WriteComparable(&h, s.lies)
	for _, n := range sortedNames(s.names) {
		h.WriteString(n + "=" + s.names[n] + ";")
	}
	for _, a := range s.actors {
		for _, n := range slices.Sorted(maps.Keys(a.held)) {
			h.WriteString(n)
		}
		maphash.WriteComparable(&h, [4]bool{a.dead, a.done, a.orphan, a.unaware() && !a.done})
		if !a.done {
			maphash.WriteComparable(&h, a.seen)
			h.WriteString(a.about)
		}
	}
	return h.Sum64()
}

func (s *simulation) close() {
	for _, a := range s.actors {
		a.stop()
	}
}

// finish asserts, when nobody can go on, that nobody still wants to, that the next contender gets in at once, and that
// nothing is left when it is done.
func (s *simulation) finish() {
	for _, a := range s.actors {
		if !a.done {
			s.fail(a.name() + " waits for ever")
			return
		}
	}
	if s.rules.script != nil || s.broken != "" {
		return
	}
	last := s.add(len(s.actors), "xu")
	for !last.done && s.broken == "" {
		if last.pausing {
			s.fail("the next contender has to wait")
			return
		}
		last.run()
		s.check()
	}
	if names := sortedNames(s.names); s.broken == "" && !slices.Equal(names, []string{free}) {
		s.fail("left over: " + strings.Join(names, " "))
	}
}

// explore runs every interleaving. It returns how many states there are and the story of the first failure, or "".
func explore(r rules, scripts ...string) (states int, story string) {
	defer func(f func() string) { nonce = f }(nonce)
	seen := map[uint64]bool{}
	for todo := [][]byte{nil}; len(todo) > 0; {
		path := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for s := newSimulation(r, scripts, path, false); ; {
			k := s.key()
			cs := s.choices()
			if len(cs) == 0 {
				s.finish()
			}
			if s.broken != "" {
				s.close()
				return len(seen), tell(r, scripts, path)
			}
			if seen[k] || len(cs) == 0 {
				seen[k] = true
				s.close()
				break
			}
			seen[k] = true
			for _, c := range cs[1:] {
				todo = append(todo, append(path[:len(path):len(path)], c))
			}
			path = append(path[:len(path):len(path)], cs[0])
			s.do(cs[0])
		}
	}
	return len(seen), ""
}

// tell repeats a run that failed, for its story.
func tell(r rules, scripts []string, path []byte) string {
	s := newSimulation(r, scripts, path, true)
	defer s.close()
	if s.broken == "" {
		s.finish()
	}
	return strings.Join(s.story, "\n") + "\n=> " + s.broken
}
