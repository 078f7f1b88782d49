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

// watched is the result of Watch.
type watched struct {
	added   bool          // something is watched that was not before: what happened to it before must be looked at now
	eldest  bool          // we are among the eldest
	longest time.Duration // how long a pause may be; 0: no events are to be had
}

const (
	// slowLook is how often the eldest waiters look for what no event tells, and the others at one name. On a network
	// filesystem it is how long a hand-over takes.
	slowLook = 2 * time.Second
	// slowAsk is how often a waiter checks whether a living owner has let go.
	slowAsk = time.Second
	// longestWait is how often a waiter that has all events makes an attempt all the same.
	longestWait = 5 * time.Minute
	// turn is how much longer a waiter waits after an event than the one before it, so that the elder goes first.
	turn = time.Millisecond
	// mostWatched is how many holders are watched; there can be more where permits are waited for.
	mostWatched = 32
)

// loseEvent is for tests. It returns how long after an event a slow look finds what happened, as if the event had been lost;
// 0 if it is not lost.
var loseEvent func() time.Duration

func (p *place) Watch(wait []record, sign func(Owner) Sign) (w watched) {
	dir, err := p.file()
	if !events.Supported || p.waiting == "" || p.noDescriptors || err != nil {
		return watched{}
	}
	defer func() {
		if w.added && !canOpen() { // leave the descriptors to what cannot do without
			p.watcher.Close()
			closeEntry(p.entry)
			p.entry, p.noDescriptors, p.look = 0, true, events.Look{}
			w = watched{}
		}
	}()
	p.look = events.Look{Every: slowLook, Directory: dir}
	var pids []int
	if p.parent != 0 {
		pids = append(pids, p.parent)
	}
	if pid := p.watchPredecessor(dir); pid != 0 {
		pids = append(pids, pid)
	}
	w.eldest, w.longest = p.rank < eldest, longestWait
	if p.rank > 0 { // all waiters before us may be stopped
		w.longest = slowLook * time.Duration(2+p.rank/eldest)
	}
	// A process that listed the directory before we were in the queue did not wake us.
	w.added, p.listening = !p.listening, true
	// The younger waiters listen too: if those before them are stopped, they are among the eldest without knowing it.
	p.watcher.Bell(p.entry)
	if w.eldest {
		if p.entry == 0 {
			added, err := p.watcher.Directory(dir)
			if err != nil {
				return watched{}
			}
			w.added = w.added || added
		}
		pids = append(pids, p.watchHolders(wait, sign, &w)...)
	} else {
		p.watcher.NoDirectory()
		p.look.Stand = append(p.look.Stand, p.before)
		if k := wait[0].kind; k == kindBusy || k == kindExcl {
			p.look.Absent = free
		} else {
			p.look.Stand = append(p.look.Stand, wait[0].name)
		}
	}
	added, err := p.watcher.Processes(pids)
	if err != nil {
		w.longest = slowAsk
	}
	// Only the first one looks at once: it looks for the others too, who look soon anyway.
	w.added = w.added || added && p.rank == 0
	return w
}

// watchHolders makes Pause look at the records that keep us out, and returns the processes to watch.
func (p *place) watchHolders(wait []record, sign func(Owner) Sign, w *watched) (pids []int) {
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
			switch s := sign(process); {
			case s.File != "" && p.look.File == "":
				p.look.File, p.look.Every = s.File, slowAsk
			case s.File != "" || s.Ask:
				w.longest = slowAsk
			}
		}
	}
	return pids
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
		// Those who came before us go first. Nothing is missed meanwhile, and often several events come at once.
		if p.ahead > 0 && p.rank < eldest {
			new(events.Watcher).Wait(time.Duration(min(p.ahead, eldest))*turn, events.Look{})
		}
	}
	return event != events.Timeout && event != events.Changed
}
