package fallback

import (
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"example.org/flock/fallback/openfile"
)

// The runner: shells and flocks run the shipped protocol over a directory, processes, lifelines and open files in
// memory, one operation at a time, in every order there is, and each may be killed before each of its operations.
// Orders that lead to the same world with everybody having seen the same things are followed once. That a process is
// stopped is one of these orders: it is the one in which the others go on.

// A world is one run.
type world struct {
	rules     rules
	names     map[string]*simName
	text      map[string]string // what is written in a file, for the recipes of others
	maker     map[string]int    // name -> who created it, for the recipes that look at its age
	processes []*simProcess     // in the order of their starts
	actors    []*actor
	files     int
	version   int // counts changes, to wake those who wait
	crashes   int
	faults    int
	boots     int
	broken    string
	telling   bool
	story     []string
}

// rules are what differs between scenarios.
type rules struct {
	permits int
	crashes int       // how many processes may be killed
	torn    bool      // whether a listing may show some names as they were and others as they are
	births  bool      // whether others may act while a lifeline is made
	noKcmp  bool      // whether nothing tells that two descriptors are one open file
	seesAll bool      // whether everybody may look into all processes
	faults  int       // how many operations may fail, before or after they were carried out
	reuse   bool      // whether a new process gets the id of one that has ended
	until   time.Time // when to end, whatever there still is; zero: never
	wrap    func(*simFlock) system
	script  func(*actor) // instead of the protocol
}

// A simName is what a name in the directory stands for.
type simName struct {
	fifo bool
}

// A simProcess has open files. The kernel keeps an open file as long as a process has it.
type simProcess struct {
	pid, parent int
	start       uint64 // counts the processes
	table       map[int]*simFile
	fifos       map[*simName]bool // and whether its children inherit them
	machine     machine
	alive       bool
}

// A simFile is an open file of the file that is locked.
type simFile struct {
	id     int
	mark   openfile.Mark // 0: none
	signal int
	lock   Mode // what the kernel's lock would be, 0: none
	permit int  // the number of the permit
}

// An actor is a process that runs: a coroutine that stops before each operation on the world.
type actor struct {
	*simProcess
	world   *world
	next    func() (string, bool)
	stop    func()
	yield   func(string) bool
	about   string     // the operation it is about to do
	own     *Lock      // of the process itself
	opened  []*simName // the lifelines that it has opened
	done    bool       // it has ended
	failed  bool       // without success
	waits   *actor     // for this child to end
	pausing bool
	fault   byte   // whether the operation that it is about to do fails, as in a choice
	seen    uint64 // what the operations since the last pause have answered
	phase   int
	nonces  int
	version int // of the world when it first listed after the last pause
	looked  bool
}

var seed = maphash.MakeSeed()

type killed struct{}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func newWorld(r rules, scripts []string, path []byte, telling bool) *world {
	w := &world{rules: r, telling: telling, names: map[string]*simName{}, text: map[string]string{},
		maker: map[string]int{}, crashes: r.crashes, faults: r.faults}
	if r.script == nil {
		w.names[free] = &simName{}
	}
	for _, script := range scripts {
		w.start(nil, func(a *actor) {
			if r.script != nil {
				r.script(a)
			} else {
				a.play(parseScript(script))
			}
		})
	}
	for _, c := range path {
		w.do(c)
	}
	return w
}

// start makes a process with the open files of its parent, and an actor that runs in it.
func (w *world) start(parent *actor, run func(*actor)) *actor {
	p := &simProcess{pid: w.newPID(), start: uint64(len(w.processes) + 1), table: map[int]*simFile{},
		fifos: map[*simName]bool{}, alive: true}
	p.machine = simMachine(fmt.Sprint(w.boots))
	if parent != nil {
		p.parent, p.table, p.machine = parent.pid, maps.Clone(parent.table), parent.machine
		for fifo, inherited := range parent.fifos {
			if inherited {
				p.fifos[fifo] = true
			}
		}
	}
	w.processes = append(w.processes, p)
	a := &actor{simProcess: p, world: w}
	w.actors = append(w.actors, a)
	a.next, a.stop = iter.Pull(func(yield func(string) bool) {
		defer func() {
			if e := recover(); e != nil && e != (killed{}) {
				panic(e)
			}
		}()
		a.yield = yield
		growStack()
		run(a)
	})
	w.version++
	a.run()
	return a
}

// newPID returns an id for a new process.
func (w *world) newPID() int {
	if w.rules.reuse {
		for _, p := range w.processes {
			if w.process(p.pid).pid == 0 {
				return p.pid
			}
		}
	}
	return len(w.processes) + 1
}

func simMachine(boot string) machine {
	return machine{user: user{"0", "0", "u"}, host: "h", id: "m", boot: boot, pidNS: pidNamespace{initialPIDs, "1"},
		device: "d"}
}

// growStack makes room for the calls that follow: to grow a deep stack takes time.
//
//go:noinline
func growStack() byte {
	var room [6 << 10]byte
	return room[len(os.Args)]
}

func (a *actor) name() string { return string(rune('A' + a.start - 1)) }

func (w *world) fail(what string) {
	if w.broken == "" {
		w.broken = what
	}
}

// tell adds to the story, which is only kept when a run that failed is repeated for it.
func (w *world) tell(a *actor, what string) {
	if w.telling {
		w.story = append(w.story, a.name()+" "+readable(what))
	}
}

// readable shortens names for people: excl-A is A's lifeline.
func readable(s string) string {
	return longID.ReplaceAllStringFunc(s, func(id string) string {
		o, _ := parseOwner(strings.TrimPrefix(id, ","))
		return "-" + string(rune('A'+o.pid-1)) + o.nonce[strings.IndexByte(o.nonce, '-'):]
	})
}

var longID = regexp.MustCompile(`,v1,[0-9a-f]{13},\d+,[0-9-]+(\.\w+)?,\w*\.\w*\.\w*,\w*,\w*,\w*,\w*\.\w*,\w*`)

// step announces an operation, and waits until it is this actor's turn.
func (a *actor) step(what string) {
	if !a.yield(what) {
		panic(killed{})
	}
}

// saw records what an operation answered; together these answers make the actor's state.
func (a *actor) saw(answer string) {
	a.world.tell(a, a.about+": "+answer)
	var h maphash.Hash
	h.SetSeed(seed)
	maphash.WriteComparable(&h, a.seen)
	h.WriteString(a.about)
	h.WriteString(answer)
	a.seen = h.Sum64()
}

// changed counts a change. Those that others make after an actor has begun to look are what ends its pauses.
func (a *actor) changed() {
	a.world.version++
	a.version++
}

// run lets the actor do what it is about to do and go on to its next operation.
func (a *actor) run() {
	ownPID = a.pid
	nonce = func() string {
		a.nonces++
		return fmt.Sprintf("%d-%d-%d", a.start, a.phase, a.nonces)
	}
	about, more := a.next()
	if a.about = about; !more {
		a.end()
	}
}

// end closes what the process has open.
func (a *actor) end() {
	a.done, a.alive, a.pausing = true, false, false
	clear(a.fifos)
	for n := range a.table {
		a.close(n)
	}
	a.world.version++
}

// close closes a descriptor. The last one of an open file releases its lock.
func (a *actor) close(number int) {
	f := a.table[number]
	delete(a.table, number)
	if f != nil && !a.world.isOpen(f) {
		f.lock = 0
	}
}

// hasReader reports whether somebody in a kernel has a FIFO open, by the same mount.
func (w *world) hasReader(n *simName, m machine) bool {
	return slices.ContainsFunc(w.processes, func(p *simProcess) bool {
		_, ok := p.fifos[n]
		return ok && p.machine == m
	})
}

func (w *world) isOpen(f *simFile) bool {
	for _, p := range w.processes {
		for _, other := range p.table {
			if other == f {
				return true
			}
		}
	}
	return false
}

func (a *actor) kill() {
	a.world.tell(a, "is killed before it "+a.about)
	a.stop()
	a.failed = true
	a.end()
}

// canRun reports whether the actor has something to do.
func (a *actor) canRun() bool {
	return !a.done && (a.waits == nil || a.waits.done) && !(a.pausing && a.version == a.world.version)
}

// The steps that can come next: actor i goes on, or is killed, or its operation fails without having been carried out,
// or after it.
const (
	goOn       byte = iota * 50
	die             // + i
	failBefore      // + i
	failAfter       // + i
)

func (w *world) choices() (cs []byte) {
	for i, a := range w.actors {
		if a.canRun() {
			cs = append(cs, goOn+byte(i))
		}
	}
	for i, a := range w.actors {
		if !a.done && w.crashes > 0 {
			cs = append(cs, die+byte(i))
		}
		if a.canRun() && w.faults > 0 && a.canFail() {
			cs = append(cs, failBefore+byte(i), failAfter+byte(i))
		}
	}
	return cs
}

// canFail reports whether the operation is one of those that need room or a server.
func (a *actor) canFail() bool {
	return slices.ContainsFunc([]string{"renames", "creates", "removes"}, func(verb string) bool {
		return strings.HasPrefix(a.about, verb)
	})
}

// fails reports whether the operation that the actor does fails at this time.
func (a *actor) fails(when byte) bool {
	if a.fault != when {
		return false
	}
	a.fault = goOn
	a.saw("EIO")
	return true
}

func (w *world) do(choice byte) {
	a := w.actors[choice%50]
	switch how := choice - choice%50; how {
	case die:
		w.crashes--
		a.kill()
	default:
		if a.fault = how; how != goOn {
			w.faults--
		}
		a.waits = nil
		a.run()
	}
	w.check()
}

// check asserts exclusion, and that each permit has a number of its own.
func (w *world) check() {
	var locked [8]*simFile
	var inside []openfile.Location
	permits, exclusive, all := 0, 0, 0
	for _, p := range w.processes {
		for number, f := range p.table {
			if f.lock == 0 {
				continue
			}
			inside = append(inside, openfile.Location{PID: p.pid, Start: p.start, Number: number})
			if slices.Contains(locked[:all], f) {
				continue
			}
			locked[all] = f
			all++
			switch f.lock {
			case Exclusive:
				exclusive++
			case Permit:
				permits++
				if slices.ContainsFunc(locked[:all-1], func(o *simFile) bool { return o.lock == Permit && o.permit == f.permit }) {
					w.fail(fmt.Sprint("two have permit ", f.permit, ": ", inside))
				}
				if f.permit < 1 || f.permit > w.rules.permits {
					w.fail(fmt.Sprint("there is no permit ", f.permit))
				}
			}
		}
	}
	if exclusive > 0 && all > 1 || w.rules.permits > 0 && permits > w.rules.permits {
		w.fail(fmt.Sprint("inside at once: ", inside))
	}
}

func (w *world) key() uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	maphash.WriteComparable(&h, [3]int{w.boots, w.crashes, w.faults})
	for _, n := range slices.Sorted(maps.Keys(w.names)) {
		h.WriteString(n + "=" + w.text[n] + ";")
		maphash.WriteComparable(&h, *w.names[n])
	}
	for _, a := range w.actors {
		for _, n := range slices.Sorted(maps.Keys(a.table)) {
			f := a.table[n]
			maphash.WriteComparable(&h, [6]int{n, f.id, int(f.lock), int(f.mark), f.signal, f.permit})
		}
		for _, n := range slices.Sorted(maps.Keys(w.names)) {
			inherited, has := a.fifos[w.names[n]]
			maphash.WriteComparable(&h, [2]bool{inherited, has})
		}
		maphash.WriteComparable(&h, [4]bool{a.alive, a.done, a.failed, a.version != w.version})
		if !a.done {
			maphash.WriteComparable(&h, a.seen)
			h.WriteString(a.about)
		}
	}
	return h.Sum64()
}

func (w *world) stopAll() {
	for _, a := range w.actors {
		a.stop()
	}
}

// finish asserts, when nobody can go on, that nobody still wants to, that the next contender gets in at once, and that
// nothing is left when it is done.
func (w *world) finish() {
	for _, a := range w.actors {
		if !a.done {
			w.fail(a.name() + " waits for ever")
			return
		}
	}
	if w.rules.script != nil || w.broken != "" {
		return
	}
	first := len(w.actors)
	w.rules.wrap, w.faults = nil, 0
	w.rules.seesAll = true // as root
	w.start(nil, func(a *actor) { a.play(parseScript("open9 X9 u9")) })
	for w.broken == "" {
		i := slices.IndexFunc(w.actors[first:], func(a *actor) bool { return a.canRun() })
		if i < 0 {
			break
		}
		w.do(byte(first + i))
	}
	for _, a := range w.actors[first:] {
		if !a.done || a.failed {
			w.fail("the next contender does not get in")
			return
		}
	}
	if names := slices.Sorted(maps.Keys(w.names)); w.broken == "" && !slices.Equal(names, []string{free}) {
		w.fail("left over: " + strings.Join(names, " "))
	}
}

// explore runs every interleaving, or those, drawn at random, for which there is time. It returns how many states it
// has seen and the story of the first failure, or "".
func explore(r rules, scripts ...string) (states int, story string) {
	defer func(f func() string, g func(int) int, p int) { nonce, draw, ownPID = f, g, p }(nonce, draw, ownPID)
	draw = func(int) int { return 0 }
	defer debug.SetGCPercent(debug.SetGCPercent(1000))
	seen := map[uint64]bool{}
	for todo := [][]byte{nil}; len(todo) > 0; {
		last := len(todo) - 1
		if !r.until.IsZero() {
			i := rand.N(len(todo))
			todo[i], todo[last] = todo[last], todo[i]
			if time.Now().After(r.until) {
				break
			}
		}
		path := todo[last]
		todo = todo[:last]
		for w := newWorld(r, scripts, path, false); ; {
			k := w.key()
			cs := w.choices()
			if len(cs) == 0 {
				w.finish()
			}
			if w.broken != "" {
				w.stopAll()
				return len(seen), tellStory(r, scripts, path)
			}
			if seen[k] || len(cs) == 0 {
				seen[k] = true
				w.stopAll()
				break
			}
			seen[k] = true
			for _, c := range cs[1:] {
				todo = append(todo, append(path[:len(path):len(path)], c))
			}
			path = append(path[:len(path):len(path)], cs[0])
			w.do(cs[0])
		}
	}
	return len(seen), ""
}

// tellStory repeats a run that failed, for its story.
func tellStory(r rules, scripts []string, path []byte) string {
	w := newWorld(r, scripts, path, true)
	defer w.stopAll()
	if w.broken == "" {
		w.finish()
	}
	return strings.Join(w.story, "\n") + "\n=> " + w.broken
}
