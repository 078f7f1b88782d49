package fallback

import (
	"cmp"
	"slices"

	"example.org/flock/internal/openfile"
)

// A Holder holds the lock, or waits for it.
type Holder struct {
	// PID is the process id, in its own pid namespace.
	PID int
	// Host is the name of its machine, for people to read.
	Host string
	Mode Mode
	// Waiting says that it does not hold the lock yet.
	Waiting bool
	// Unreachable says that this machine cannot tell whether the holder lives.
	Unreachable bool
	// Concealed says that the holder lives, and that this user may not see whether it still has the file open.
	Concealed bool
	// Path is what to remove if the holder is Unreachable and known to be gone: its record, or the whole state directory
	// where the record is the token.
	Path string

	machine machine
}

// holders returns what others may know of records.
func (c *call) holders(rs []record) (hs []Holder) {
	for _, r := range rs {
		h := Holder{PID: r.owner.pid, Host: r.owner.host, Mode: modeOf(r.word), Path: c.state.path, machine: r.owner.machine}
		if !r.isToken() {
			h.Path += "/" + r.name
		}
		reach := here().reach(r.owner.machine)
		h.Unreachable = reach == unknown
		h.Concealed = reach == alive && r.owner.file != "" && r.word != busy &&
			c.At(c.searchFor(r.owner), r.owner.descriptor()) == openfile.Hidden
		hs = append(hs, h)
	}
	return hs
}

// everyone returns the processes that have the open files of the living records.
func (c *call) everyone(rs []record) []Holder {
	hs := c.holders(rs)
	for _, mark := range []openfile.Mark{openfile.NoAtime, openfile.NonBlock} {
		files := openfile.Search{Mark: mark}
		for _, r := range rs {
			if r.owner.mark == mark && here().reach(r.owner.machine) == alive {
				files.Files = append(files.Files, c.searchFor(r.owner).Files...)
			}
		}
		if files.Files == nil {
			continue
		}
		c.newScan(files, func(pid int, numbers []int) (done bool) {
			for _, n := range numbers {
				for i, r := range rs {
					p, q := descriptor{pid, n}, r.owner.descriptor()
					if r.owner.mark == mark && q.pid != pid && c.Compare(files, p, q, false) == openfile.Equal {
						h := hs[i]
						h.PID = pid
						if !slices.Contains(hs, h) {
							hs = append(hs, h)
						}
					}
				}
			}
			return false
		}).everywhere()
	}
	slices.SortStableFunc(hs, func(a, b Holder) int { return cmp.Compare(a.PID, b.PID) })
	return hs
}

// waiters returns those who wait and live.
func (c *call) waiters(s snapshot) (hs []Holder) {
	for _, name := range s.waiters {
		o, m, ok := parseWaiter(name)
		fate := c.Fate(o)
		if !ok || fate == dead {
			continue
		}
		hs = append(hs, Holder{PID: o.pid, Host: o.host, Mode: m, Waiting: true, Path: c.state.path + "/" + name,
			Unreachable: fate == unknown, machine: o.machine})
	}
	return hs
}
