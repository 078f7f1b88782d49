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

// Who waits for the lock has a name "wait,ID" in the state directory, on Linux a FIFO that it has open. The protocol
// knows nothing of these: they tell who waits, and in which order. An order that is wrong costs a little time or load,
// nothing else.
//
// The eldest waiters of a machine for each mode are told of each release, watch the holders, and list the directory. Each
// of the others waits until a certain one before it, for the same mode, has left the line: then it is among the eldest
// itself. What keeps a waiter for one mode out may be none of the business of those for another.

const (
	waitPrefix = "wait,"
	// eldest is how many waiters hold events. More than one, lest one that is stopped stop the line; few, as each wakes
	// at each event, and as inotify, where it is used, gives a user 128 instances.
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

// arrival is the last part of a waiter's name: when it came, in microseconds since 1970, such that strings compare as
// times do, and a random part.
func arrival() string {
	digits := strconv.FormatInt(time.Now().UnixMicro(), 36)
	return strings.Repeat("0", max(11-len(digits), 0)) + digits + strconv.Itoa(rand.N(1000))
}

func arrivalOf(name string) string { return name[strings.LastIndexByte(name, ',')+1:] }

// tagOf returns the last part but one of a waiter's name: the mode that it waits for.
func tagOf(name string) string {
	rest := name[:strings.LastIndexByte(name, ',')]
	return rest[strings.LastIndexByte(rest, ',')+1:]
}

// Queue puts us into the line, and returns how many wait.
func (p *place) Queue(o Owner) int {
	if p.waiting != "" && p.lined != p.root { // somebody removed the directory
		closeEntry(p.entry)
		p.waiting, p.entry = "", 0
	}
	if p.waiting == "" {
		o.nonce = arrival()
		name := waitPrefix + o.id()
		if fd, err := p.createEntry(name); err == nil {
			p.waiting, p.entry, p.lined, p.belled = name, fd, p.root, false
		}
	}
	p.dismiss(1)
	return max(p.crowd, 1)
}

func (p *place) Leave() {
	if p.waiting != "" {
		p.Remove(p.waiting)
		closeEntry(p.entry)
		p.watcher.Close()
		p.waiting, p.entry, p.before, p.rank, p.deaf, p.look = "", 0, "", 0, false, events.Look{}
	}
	n := 16
	if len(p.waiters) > n {
		n = 2 // those in the line find each other
	}
	p.dismiss(n)
	p.waiters = nil
}

// file returns the directory as a file, for those calls that want one.
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

// line returns the waiters on this machine for one mode that the last listing showed: how many there were before a certain
// arrival, and of these the n eldest, or the n youngest, the eldest first. The arrival "" comes after all, the mode "" is any.
func (p *place) line(before, mode string, n int, youngest bool) (count int, names []string) {
	machine := here().machinePart()
	for _, name := range p.waiters {
		came := arrivalOf(name)
		if before != "" && came >= before || !strings.Contains(name, machine) || mode != "" && tagOf(name) != mode {
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

// machinePart is what the names of all owners of this machine, in whatever pid namespace, contain and others do not.
func (o Owner) machinePart() string {
	if o.Boot != "" {
		return "," + word(o.Boot, maxBoot) + ","
	}
	return "," + word(o.Host, maxHost) + "," + word(o.machine, maxMachine) + ","
}

// errLeft is the error of openEntry for one who does not wait any more.
var errLeft = errors.New("it has left")

// stepUp finds out how many are before us, and watches the one whose leaving changes most for us. It returns that one's
// process if it has to be watched instead.
func (p *place) stepUp(dir *os.File) (pid int) {
	for {
		var names []string
		p.ahead, _ = p.line(arrivalOf(p.waiting), "", 0, false)
		p.rank, names = p.line(arrivalOf(p.waiting), tagOf(p.waiting), eldest, true)
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
			// Judged only now: had it died before, its end would not be told.
			dead := !ok || p.Fate(o) == dead
			if dead {
				p.Remove(before)
			}
			if dead || err == errLeft {
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

// dismiss removes the dead among n waiters, chosen at random: to judge all each time would be much work for nothing.
// Those of whom nobody here will ever know go too, unless they have their FIFO open: in another container somebody waits.
// If they live they are not counted and not called, that is all.
func (p *place) dismiss(n int) {
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

// listens reports whether somebody of this kernel, in whatever pid namespace, has the FIFO of a waiter open.
func (p *place) listens(name string) bool {
	dir, err := p.file()
	if err != nil {
		return false
	}
	fd, _ := openEntry(dir, name)
	closeEntry(fd)
	return fd != 0
}
