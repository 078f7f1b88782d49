package fallback

import (
	"cmp"
	"errors"
	"io/fs"
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
// The eldest waiters of a machine hold events and list the directory. Each of the others waits until a certain one
// before it has left the line: then it is among the eldest itself.

const (
	waitPrefix = "wait,"
	// eldest is how many waiters hold events. More than one, lest one that is stopped stop the line; few, as inotify
	// gives a user 128 instances, and as each wakes at each event.
	eldest = 8
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

// Queue puts us into the line, and returns how many wait.
func (p *place) Queue(o Owner) int {
	if p.waiting == "" {
		o.nonce = arrival()
		name := waitPrefix + o.id()
		if fd, err := p.createEntry(name); err == nil {
			p.waiting, p.entry = name, fd
		}
	}
	p.dismiss(1)
	return max(p.crowd, 1)
}

func (p *place) Leave() {
	p.watcher.Close()
	if p.waiting != "" {
		p.Remove(p.waiting)
		closeEntry(p.entry)
	}
	if p.directory != nil {
		p.directory.Close()
	}
	p.waiting, p.entry, p.before, p.directory, p.opened, p.rank = "", 0, "", nil, nil, 0
	p.look = events.Look{}
	n := 16
	if len(p.waiters) > n {
		n = 2 // those in the line find each other
	}
	p.dismiss(n)
	p.waiters = nil
}

// file returns the directory as a file, for those calls that want one, or nil.
func (p *place) file() *os.File {
	if p.directory == nil || p.opened != p.root {
		if p.directory != nil {
			p.watcher.NoDirectory()
			p.directory.Close()
			p.directory = nil
		}
		f, err := p.root.Open(".")
		if err != nil {
			return nil
		}
		p.directory, p.opened = f, p.root
	}
	return p.directory
}

// elders returns those of the last listing that wait on this machine, came before us and live as far as one knows, the
// eldest first.
func (p *place) elders() (names []string) {
	ours, machine := arrivalOf(p.waiting), here().machinePart()
	for _, name := range p.waiters {
		if arrivalOf(name) < ours && strings.Contains(name, machine) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(arrivalOf(a), arrivalOf(b)) })
	return names
}

// machinePart is what the names of all owners of this machine, in whatever pid namespace, contain and others do not.
func (o Owner) machinePart() string {
	if o.Boot != "" {
		return "," + word(o.Boot, maxWord) + ","
	}
	return "," + word(o.Host, maxHost) + "," + word(o.machine, 13) + ","
}

// stepUp finds out how many are before us, and watches the one whose leaving changes most for us. It returns that one's
// process if it has to be watched instead.
func (p *place) stepUp() (pid int) {
	names := p.elders()
	for {
		p.rank = len(names)
		before := ""
		switch {
		case p.rank >= eldest:
			before = names[p.rank-eldest]
		case p.rank > 0:
			before = names[p.rank-1]
		}
		if before == "" {
			p.before = ""
			p.watcher.Pipe(0)
			return 0
		}
		o, ok := parseID(strings.TrimPrefix(before, waitPrefix))
		watched := before == p.before && p.piped
		if before != p.before {
			fd, err := openEntry(p.file(), before)
			p.watcher.Pipe(fd)
			// Judged only now: had it died before, its end would not be told.
			if errors.Is(err, fs.ErrNotExist) || !ok || p.Fate(o) == dead {
				p.Remove(before)
				names = slices.DeleteFunc(names, func(n string) bool { return n == before })
				continue
			}
			p.before = before
			p.piped = fd != 0
			watched = p.piped
		}
		if watched || !ok || o.Namespace != here().Namespace || o.PID == os.Getpid() {
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
// Those of whom nobody here will ever know go too. If they live they are not counted, that is all.
func (p *place) dismiss(n int) {
	ws := slices.Clone(p.waiters)
	for ; n > 0 && len(ws) > 0; n-- {
		i := rand.N(len(ws))
		o, ok := parseID(strings.TrimPrefix(ws[i], waitPrefix))
		if ws[i] != p.waiting && (!ok || p.Fate(o) != alive) {
			p.Remove(ws[i])
		}
		ws[i] = ws[len(ws)-1]
		ws = ws[:len(ws)-1]
	}
}
