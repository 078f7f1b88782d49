package fallback

import (
	"testing"
	"time"

	"example.org/flock/internal/openfile"
)

// A nursery is a system with two sleeping shells, in which commands start commands: whenever somebody asks for the last process
// id, shells have new children, each of which has a child, and that one, too.
type nursery struct {
	thisSystem
	times   int // how often that comes
	chains  int // how many children the shells have each time
	now     time.Time
	parents []int // by process id
	careful []bool
}

const firstShell, secondShell = 2, 3

func newNursery(times, chains int) *nursery {
	return &nursery{times: times, chains: chains, now: time.Now(), parents: []int{0, 0, 1, 1}, careful: make([]bool, 4)}
}

func (n *nursery) Now() time.Time { return n.now }

func (n *nursery) Last() (int, error) {
	if n.times > 0 {
		n.times--
		for i := range n.chains {
			parent := firstShell + i%2
			for range 3 {
				n.parents, n.careful = append(n.parents, parent), append(n.careful, false)
				parent = len(n.parents) - 1
			}
		}
	}
	return len(n.parents) - 1, nil
}

func (n *nursery) Processes() ([]int, error)  { return []int{1, firstShell, secondShell}, nil }
func (n *nursery) IsProcess(int) bool         { return true }
func (n *nursery) Maker(pid int) int          { return n.parents[pid] }
func (n *nursery) Activity(int) string        { return "sleeps" }
func (n *nursery) KeepStill(m map[int]string) { delete(m, firstShell) }

func (n *nursery) In(_ openfile.Search, pid int, careful bool) (numbers []int, visible bool) {
	n.now = n.now.Add(30 * time.Millisecond)
	n.careful[pid] = careful
	return nil, true
}

// TestSearchSkipsTheStill asserts that the second pass of a search looks with care at a shell that has run, and not at all at
// one that has not.
func TestSearchSkipsTheStill(t *testing.T) {
	n := newNursery(0, 0)
	done, certain := (&call{system: n}).newScan(openfile.Search{}, nil).everywhere()
	if done || !certain || !n.careful[firstShell] || n.careful[secondShell] {
		t.Error(done, certain, n.careful)
	}
}

// TestSearchKeepsUp asserts that a search looks with care at all new processes if that are few, and otherwise only at those of
// which it does not know that they descend from one without the open file.
func TestSearchKeepsUp(t *testing.T) {
	for _, c := range []struct{ rounds, chains, want int }{
		{manyNew / 3, 1, manyNew / 3 * 3},
		{30, manyNew, 3 * manyNew}, // those of the first round
	} {
		n := newNursery(c.rounds, c.chains)
		s := (&call{system: n}).newScan(openfile.Search{}, nil)
		s.without[firstShell], s.without[secondShell] = 0, 0
		if done, certain := s.after(secondShell, 0, true); done || !certain {
			t.Error("the search was not certain")
		}
		careful := 0
		for _, isCareful := range n.careful {
			if isCareful {
				careful++
			}
		}
		if careful != c.want {
			t.Errorf("looked with care at %d new processes of %d, not at %d", careful, len(n.careful)-4, c.want)
		}
	}
}

// TestSearchEnds asserts that a search ends some time after the deadline, whatever it has not seen by then.
func TestSearchEnds(t *testing.T) {
	n := newNursery(1<<20, 1)
	began := n.now
	c := &call{system: n, Request: Request{Deadline: began}}
	done, certain := c.newScan(openfile.Search{}, nil).everywhere()
	if took := n.now.Sub(began); done || certain || took < doubtful || took > doubtful+time.Second {
		t.Error(done, certain, took)
	}
}
