package fallback

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/flock/internal/events"
)

// A process that waits for the lock has a name "wait,ID" in the state directory, on Linux a FIFO that it has open. The
// protocol knows nothing of these names: they show who waits, and in which order. A wrong order costs a little time or load,
// nothing else.
//
// For each mode, the eldest waiters of a machine are woken by each release, watch the holders, and list the directory. Each
// of the others waits until a certain one before it, for the same mode, has left the queue. Then it is among the eldest
// itself. The modes are apart because what keeps a waiter for one mode out need not concern those for another.

const (
	waitPrefix = "wait,"
	// eldest is how many waiters watch events. They are more than one, so that a stopped one does not stop the queue. They
	// are few, because each wakes at each event, and where inotify is used a user has only 128 instances.
	eldest = 3
)

func waiters(names []string) (ws []string) {
	for _, n := range names {
		if strings.HasPrefix(n, waitPrefix) {
			ws = append(ws, n)
		}
	}
	return ws
}

// arrival returns the last part of a waiter's name: the time in microseconds since 1970, written so that strings compare as
// times do, and a random part.
func arrival() string {
	digits := strconv.FormatInt(time.Now().UnixMicro(), 36)
	return strings.Repeat("0", max(11-len(digits), 0)) + digits + strconv.Itoa(rand.N(1000))
}

func arrivalOf(name string) string { return name[strings.LastIndexByte(name, ',')+1:] }

// modeOf returns the last part but one of a waiter's name: the mode that it waits for.
func modeOf(name string) string {
	rest := name[:strings.LastIndexByte(name, ',')]
	return rest[strings.LastIndexByte(rest, ',')+1:]
}

// Queue puts us into the queue, and returns how many wait.
func (p *place) Queue(o Owner) int {
	if p.waiting != "" && p.queuedIn != p.root { // somebody removed the directory
		closeEntry(p.entry)
		p.waiting, p.entry = "", 0
	}
	if p.waiting == "" {
		o.nonce = arrival()
		name := waitPrefix + o.id()
		if fd, err := p.createEntry(name); err == nil {
			p.waiting, p.entry, p.queuedIn, p.listening = name, fd, p.root, false
		}
	}
	p.removeDead(1)
	return max(p.waiterCount, 1)
}

func (p *place) Leave() {
	if p.waiting != "" {
		p.Remove(p.waiting)
		closeEntry(p.entry)
		p.watcher.Close()
		p.waiting, p.entry, p.before, p.rank, p.noDescriptors, p.look = "", 0, "", 0, false, events.Look{}
	}
	n := 16
	if len(p.waiters) > n {
		n = 2 // those in the queue find each other
	}
	p.removeDead(n)
	p.waiters = nil
}

// file returns the directory as a file, for the calls that need one.
func (p *place) file() (*os.File, error) {
	if p.directory == nil || p.opened != p.root {
		f, err := p.root.Open(".")
		if err != nil {
			return nil, err
		}
		if p.directory != nil {
			p.watcher.NoDirectory()
			p.directory.Close()
		}
		p.directory, p.opened = f, p.root
	}
	return p.directory, nil
}

// arrivals counts the waiters of this machine for one mode in the last listing that came before a certain arrival, and returns
// the n eldest of them, or the n youngest, the eldest first. The arrival "" comes after all; the mode "" is any.
func (p *place) arrivals(before, mode string, n int, youngest bool) (count int, names []string) {
	machine := here().machinePart()
	for _, name := range p.waiters {
		came := arrivalOf(name)
		if before != "" && came >= before || !strings.Contains(name, machine) || mode != "" && modeOf(name) != mode {
			continue
		}
		count++
		i := len(names)
		for i > 0 && came < arrivalOf(names[i-1]) {
			i--
		}
		if len(names) < n {
			names = slices.Insert(names, i, name)
		} else if youngest && i > 0 {
			copy(names, names[1:i])
			names[i-1] = name
		} else if !youngest && i < n {
			copy(names[i+1:], names[i:])
			names[i] = name
		}
	}
	return count, names
}

// machinePart returns the part that the names of all owners of this machine have in common, in whatever pid namespace.
func (o Owner) machinePart() string {
	if o.Boot != "" {
		return "," + word(o.Boot, maxBoot) + ","
	}
	return "," + word(o.Host, maxHost) + "," + word(o.machine, maxMachine) + ","
}

// errLeft is the error of openEntry for a process that does not wait any more.
var errLeft = errors.New("it has left the queue")

// watchPredecessor counts the waiters before us, and watches the one whose leaving makes us one of the eldest, or the one just
// before us. It returns the process of that one if the process must be watched instead.
func (p *place) watchPredecessor(dir *os.File) (pid int) {
	for {
		var names []string
		p.ahead, _ = p.arrivals(arrivalOf(p.waiting), "", 0, false)
		p.rank, names = p.arrivals(arrivalOf(p.waiting), modeOf(p.waiting), eldest, true)
		if p.rank == 0 {
			p.before = ""
			p.watcher.Pipe(0)
			return 0
		}
		before := names[0]
		if p.rank < eldest {
			before = names[p.rank-1]
		}
		o, ok := parseID(strings.TrimPrefix(before, waitPrefix))
		if before != p.before || !p.piped {
			fd, err := openEntry(dir, before)
			p.watcher.Pipe(fd)
			p.before, p.piped = before, fd != 0
			// Only now that it is watched: if it died before, no event tells.
			isDead := !ok || p.Fate(o) == dead
			if isDead {
				p.Remove(before)
			}
			if isDead || err == errLeft {
				p.waiters = slices.DeleteFunc(p.waiters, func(n string) bool { return n == before })
				continue
			}
		}
		if p.piped || o.Namespace != here().Namespace || o.PID == os.Getpid() {
			return 0
		}
		return o.PID
	}
}

// Waiting returns the living ones that the last listing showed.
func (p *place) Waiting() (hs []Holder) {
	for _, name := range p.waiters {
		o, ok := parseID(strings.TrimPrefix(name, waitPrefix))
		fate := p.Fate(o)
		if !ok || fate == dead {
			continue
		}
		h := Holder{Owner: o, Waiting: true, File: p.dir + "/" + name, Unreachable: fate == unknown}
		for _, m := range []Mode{Exclusive, Shared, Permit} {
			if o.Tag == m.String() {
				h.Mode = m
			}
		}
		hs = append(hs, h)
	}
	return hs
}

// removeDead removes the dead among n waiters, chosen at random, because to judge all each time would be much work. It also
// removes those that this machine can never judge, unless they have their FIFO open, as a waiter in another container has. If
// such a waiter is alive it is not counted and not woken, nothing else.
func (p *place) removeDead(n int) {
	ws := slices.Clone(p.waiters)
	for ; n > 0 && len(ws) > 0; n-- {
		i := rand.N(len(ws))
		o, ok := parseID(strings.TrimPrefix(ws[i], waitPrefix))
		fate := p.Fate(o)
		if ws[i] != p.waiting && (!ok || fate == dead || fate == unknown && !p.listens(ws[i])) {
			p.Remove(ws[i])
		}
		ws[i] = ws[len(ws)-1]
		ws = ws[:len(ws)-1]
	}
}

// listens reports whether a process of this kernel, in whatever pid namespace, has the FIFO of a waiter open.
func (p *place) listens(name string) bool {
	dir, err := p.file()
	if err != nil {
		return false
	}
	fd, _ := openEntry(dir, name)
	closeEntry(fd)
	return fd != 0
}
