package fallback

import (
	"time"

	"example.org/flock/internal/events"
)

// A Sign says how to notice that a process which lives has let go of a lock.
type Sign struct {
	// File is a name, as in /proc/PID/fd, and the process has the lock while it leads to the same file. "": none.
	File string
	// Ask says that nothing tells, and that Gone must be asked again and again.
	Ask bool
}

// watched is what a Watch comes to.
type watched struct {
	news    bool          // something is watched that was not before: what has happened before has to be looked at now
	near    bool          // we are among the eldest
	longest time.Duration // how long a pause may be; 0: no events are to be had
}

const (
	// slowLook is how often the eldest waiters look for what no event tells, and the others at one name: on a network
	// filesystem it is how long a hand-over takes.
	slowLook = 2 * time.Second
	// slowAsk is how often is looked whether a living owner has let go.
	slowAsk = time.Second
	// longestWait is how often a waiter that has all events does everything anew.
	longestWait = 5 * time.Minute
	// turn is how much longer than the one before it a waiter waits after an event, for that one to go first.
	turn = time.Millisecond
	// mostWatched is how many holders are watched; there can be more where permits are waited for.
	mostWatched = 32
)

// loseEvent is for tests: it returns after how long the event that has just come is found by a slow look, as if it had
// not been watched, or 0.
var loseEvent func() time.Duration

func (p *place) Watch(wait []record, sign func(Owner) Sign) (w watched) {
	dir, err := p.file()
	if !events.Supported || p.waiting == "" || p.deaf || err != nil {
		return watched{}
	}
	defer func() {
		if w.news && !canOpen() { // leave the descriptors to those who cannot do without
			p.watcher.Close()
			closeEntry(p.entry)
			p.entry, p.deaf, p.look = 0, true, events.Look{}
			w = watched{}
		}
	}()
	p.look = events.Look{Every: slowLook, Directory: dir}
	var pids []int
	if p.parent != 0 {
		pids = append(pids, p.parent)
	}
	if pid := p.stepUp(dir); pid != 0 {
		pids = append(pids, pid)
	}
	w.near = p.rank < eldest
	w.longest = longestWait
	if p.rank > 0 { // those before us may all be stopped
		w.longest = slowLook * time.Duration(2+p.rank/eldest)
	}
	// Who has listed the directory before we stood in line did not call us.
	w.news, p.belled = !p.belled, true
	// Others too: with one that is stopped before them they can be among the eldest and not know.
	p.watcher.Bell(p.entry)
	if !w.near {
		p.watcher.NoDirectory()
		p.look.Stand = append(p.look.Stand, p.before)
		if k := wait[0].kind; k == kindBusy || k == kindExcl {
			p.look.Absent = free
		} else {
			p.look.Stand = append(p.look.Stand, wait[0].name)
		}
	} else {
		if p.entry == 0 {
			added, err := p.watcher.Directory(dir)
			if err != nil {
				return watched{}
			}
			w.news = w.news || added
		}
		if len(wait) > events.MaxNames {
			w.longest = slowLook
		}
		for i, r := range wait {
			p.look.Stand = append(p.look.Stand, r.name)
			if i >= mostWatched {
				continue
			}
			for _, process := range r.owner.processes() {
				if p.Fate(process) != alive {
					continue
				}
				pids = append(pids, process.PID)
				if sign == nil || r.kind == kindBusy {
					continue
				}
				s := sign(process)
				if s.File != "" && p.look.File == "" {
					p.look.File = s.File
					p.look.Every = slowAsk
				} else if s.File != "" || s.Ask {
					w.longest = slowAsk
				}
			}
		}
	}
	added, err := p.watcher.Processes(pids)
	if err != nil {
		w.longest = slowAsk
	}
	// For the others the eldest looks; and they do before long.
	w.news = w.news || added && p.rank == 0
	return w
}

func (p *place) Pause(d time.Duration) (happened bool) {
	event := p.watcher.Wait(d, p.look)
	if event != events.Timeout && event != events.Seen && loseEvent != nil {
		if late := loseEvent(); late > 0 {
			new(events.Watcher).Wait(min(d, late), events.Look{})
			event = events.Seen
		}
	}
	switch event {
	case events.Closed:
		p.before = ""
	case events.Changed, events.Ended:
		// Those who came before us first. Meanwhile nothing is missed, and often several events come at once.
		if p.ahead > 0 && p.rank < eldest {
			new(events.Watcher).Wait(time.Duration(min(p.ahead, eldest))*turn, events.Look{})
		}
	}
	return event != events.Timeout && event != events.Changed
}
