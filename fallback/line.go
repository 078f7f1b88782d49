package fallback

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.org/flock/internal/proc"
)

// A process that waits for the lock has a name "wait,OWNER" in the state directory, on Linux a FIFO that it has open. The
// protocol knows nothing of these names: they show who waits, and in which order. A wrong order costs a little time or load,
// nothing else.
//
// For each mode, the eldest waiters of a machine are woken by each release, watch the holders, and list the directory. Each
// of the others waits until the process of a certain one before it ends or is stopped. Then it is among the eldest itself.
// The modes are apart because what keeps a waiter for one mode out need not concern those for another.

// eldest is how many waiters watch events. They are more than one, so that a stopped one does not stop the line. They are
// few, because each wakes at each event, and where inotify is used a user has only 128 instances.
const eldest = 3

// A line is our place among those who wait.
type line struct {
	state *stateDir
	name  string // of our entry; "": we are not in the line
	bell  int    // what we have open of it, see makeEntry; 0: nothing
}

// arrival returns the nonce of a waiter: the time in microseconds since 1970, written so that strings compare as times do,
// and a random part.
func arrival() string {
	digits := strconv.FormatInt(time.Now().UnixMicro(), 36)
	return strings.Repeat("0", max(11-len(digits), 0)) + digits + strconv.Itoa(rand.N(1000))
}

func arrivalOf(name string) string { return name[strings.LastIndexByte(name, ',')+1:] }

// modeOfWaiter returns the mode that a waiter waits for, the last part but one of its name.
func modeOfWaiter(name string) string {
	rest := name[:strings.LastIndexByte(name, ',')]
	return rest[strings.LastIndexByte(rest, ',')+1:]
}

// join puts us into the line.
func (l *line) join(actor owner, mode Mode) { l.enter(actor, mode, arrival()) }

func (l *line) enter(actor owner, mode Mode, arrived string) {
	actor.file, actor.nonce = mode.String(), arrived
	name := newRecord(wait, actor).name
	if bell, err := l.state.makeEntry(name); err == nil {
		l.name, l.bell = name, bell
	}
}

// leave takes us out of the line.
func (l *line) leave() {
	if l.name != "" {
		l.state.Remove(l.name)
		closeEntry(l.bell)
		l.name, l.bell = "", 0
	}
}

// before returns the youngest waiters of this machine that are before us, as many as watch events: of all, and of those for
// the same mode. All waiters are before who is not in the line yet.
func (l *line) before(waiters []string, m Mode) (ahead, rivals []string) {
	came, mode := arrivalOf(l.name), m.String()
	var all, same []string
	for _, name := range waiters {
		if (l.name == "" || arrivalOf(name) < came) && isOfThisMachine(name) {
			all = append(all, name)
			if modeOfWaiter(name) == mode {
				same = append(same, name)
			}
		}
	}
	younger := func(a, b string) bool { return arrivalOf(a) > arrivalOf(b) }
	return first(all, eldest, younger), first(same, eldest, younger)
}

// turns returns how long the turns of those waiters ahead are together that still wait and are not stopped.
func (l *line) turns(ahead []string, turn time.Duration) (d time.Duration) {
	for _, name := range ahead {
		o, _, _ := parseWaiter(name)
		if there, _ := l.state.Exists(name); there && !proc.IsStopped(o.pid) {
			d += turn
		}
	}
	return d
}

// first returns the n first of names, in order.
func first(names []string, n int, less func(a, b string) bool) (found []string) {
	for _, name := range names {
		i := len(found)
		for i > 0 && less(name, found[i-1]) {
			i--
		}
		if i < n {
			found = slices.Insert(found, i, name)
			found = found[:min(n, len(found))]
		}
	}
	return found
}

// ofThisMachine is what the names of all owners of this machine have in common.
var ofThisMachine = sync.OnceValue(func() string {
	m := here()
	if m.boot != "" {
		return "," + word(m.boot, maxBoot) + ","
	}
	return "," + word(m.host, maxHost) + "," + word(m.id, maxMachine) + ","
})

// isOfThisMachine reports whether a waiter is of this machine, in whatever pid namespace.
func isOfThisMachine(waiter string) bool { return strings.Contains(waiter, ofThisMachine()) }

// parseWaiter reads the name of a waiter.
func parseWaiter(name string) (o owner, m Mode, ok bool) {
	_, rest, _ := strings.Cut(name, ",")
	o, ok = parseOwner(rest)
	m = Mode(max(0, slices.Index(modeNames[:Busy], o.file)))
	return o, m, ok && m != 0
}

// wakes is how many waiters for each mode a release wakes.
const wakes = 2

// wake wakes the eldest waiters for each mode that are not stopped, ourselves apart, and returns how many it has woken.
func (l *line) wake(waiters []string) (woken int) {
	byMode := map[string][]string{}
	for _, name := range waiters {
		if name != l.name && isOfThisMachine(name) {
			mode := modeOfWaiter(name)
			byMode[mode] = append(byMode[mode], name)
		}
	}
	for _, names := range byMode {
		awake := 0
		for _, name := range first(names, 4*eldest, func(a, b string) bool { return arrivalOf(a) < arrivalOf(b) }) {
			if l.state.ring(name) {
				if awake++; awake == wakes {
					break
				}
			}
		}
		woken += awake
	}
	return woken
}
