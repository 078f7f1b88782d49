package fallback

import (
	"testing"
	"time"

	"example.org/flock/internal/openfile"
)

// A nursery is a system with two sleeping shells, in which commands start commands: whenever somebody asks for the last process
// id, a shell has a new child, that one has a child, and that one, too.
type nursery struct {
	thisSystem
	births  int // how many more times
	now     time.Time
	parents []int // by process id
	careful []bool
}

const firstShell, secondShell = 2, 3

func newNursery(births int) *nursery {
	return &nursery{births: births, now: time.Now(), parents: []int{0, 0, 1, 1}, careful: make([]bool, 4)}
}

func (n *nursery) Now() time.Time { return n.now }

func (n *nursery) Last() (int, error) {
	if n.births > 0 {
		n.births--
		for parent := firstShell + n.births%2; len(n.parents)%3 != 0 || parent <= secondShell; parent = len(n.parents) - 1 {
			n.parents, n.careful = append(n.parents, parent), append(n.careful, false)
		}
	}
	return len(n.parents) - 1, nil
}

func (n *nursery) Processes() ([]int, error)  { return []int{1, firstShell, secondShell}, nil }
func (n *nursery) IsProcess(int) bool         { return true }
func (n *nursery) Parent(pid int) int         { return n.parents[pid] }
func (n *nursery) Runs(int) string            { return "sleeps" }
func (n *nursery) KeepStill(m map[int]string) { delete(m, firstShell) }

func (n *nursery) In(_ openfile.Search, pid int, careful bool) (numbers []int, visible bool) {
	n.now = n.now.Add(10 * time.Millisecond)
	n.careful[pid] = careful
	return nil, true
}

// TestSearchKeepsUp asserts that a search looks with care only at the processes of which it does not know that they descend
// from one without the open file.
func TestSearchKeepsUp(t *testing.T) {
	n := newNursery(30)
	c := &call{system: n}
	done, certain := c.newScan(openfile.Search{}, nil).everywhere()
	if done || !certain {
		t.Error("the search was not certain")
	}
	if !n.careful[firstShell] || n.careful[secondShell] {
		t.Errorf("looked with care at the shell that has run: %v, at the other: %v", n.careful[firstShell], n.careful[secondShell])
	}
	careful := 0
	for _, isCareful := range n.careful[4:] {
		if isCareful {
			careful++
		}
	}
	if careful > 3 { // those that were made before the second round
		t.Errorf("looked with care at %d new processes of %d", careful, len(n.careful)-4)
	}
}

// TestSearchEnds asserts that a search ends some time after the deadline, whatever it has not seen by then.
func TestSearchEnds(t *testing.T) {
	n := newNursery(1 << 20)
	began := n.now
	c := &call{system: n, Request: Request{Deadline: began}}
	done, certain := c.newScan(openfile.Search{}, nil).everywhere()
	if took := n.now.Sub(began); done || certain || took < doubtful || took > doubtful+time.Second {
		t.Error(done, certain, took)
	}
}
