package fallback

import (
	"os"
	"testing"

	"example.org/flock/fallback/openfile"
	"example.org/flock/internal/proc"
)

// A shy system has no process that shows what it has open. before is called when it is asked for that.
type shy struct {
	*thisSystem
	told   openfile.Telling
	before func()
}

func (s shy) Openers([]record) (map[string][]int, openfile.Telling) {
	s.before()
	return nil, s.told
}

// TestUnseenHolder lists a holder that no process shows, and whose own process has ended.
func TestUnseenHolder(t *testing.T) {
	const noProcess = 1 << 23
	for _, c := range []struct {
		name  string
		told  openfile.Telling
		goes  bool // its lifeline is closed in between
		where string
		pid   int
	}{
		{"all processes show what they have", openfile.TellsAll, false, "", 0},
		{"some do not", openfile.TellsSome, false, "that this user may not see", 0},
		{"some do not, but it has gone", openfile.TellsSome, true, "", 0},
		{"the system tells nothing", openfile.TellsNothing, false, "", noProcess},
	} {
		dir := lockFile(t)
		was := ownPID
		ownPID = noProcess
		holder := newLock(dir)
		err := holder.TryLock()
		ownPID = was
		must(err)
		reader := newLock(dir)
		s, err := reader.begin(false)
		must(err)
		system := shy{s, c.told, func() {
			if c.goes {
				s.CloseLifeline(holder.self.lifeline)
			}
		}}
		list, err := newAttempt(t.Context(), system, reader, Request{}).everybody(dir)
		if err != nil || len(list) != 1 || list[0].Where != c.where || list[0].PID != c.pid {
			t.Errorf("%s: %+v, %v", c.name, list, err)
		}
		reader.closeState()
		if c.goes {
			holder.closeState()
		} else {
			must(holder.Unlock())
		}
	}
}

// TestStartsUnknown: where it is not known when a process was started, nothing tells that it lives, nor that its id is
// another one's.
func TestStartsUnknown(t *testing.T) {
	own, nobody := os.Getpid(), 1<<22
	start := proc.Start(own)
	if start == 0 {
		t.Skip("nothing tells when a process was started")
	}
	for _, c := range []struct {
		pid      int
		start    uint64
		on       machine
		lives    bool
		isReused bool
	}{
		{own, start, simMachine("1"), true, false},
		{own, start + 1, simMachine("1"), false, true},
		{own, 0, simMachine("1"), false, false},
		{nobody, start, simMachine("1"), false, false},
		{nobody, 0, simMachine("1"), false, false},
		{own, start, noClock, false, false},
	} {
		lifeline, _ := parseRecord(exclName + "," + owner{"1", c.pid, c.start, "it", c.on}.String())
		of := openfile.File{Location: openfile.Location{PID: c.pid, Start: c.start}, Mark: openfile.NoAtime}
		file, _ := parseRecord(exclName + "," + owner{"1", nobody, 7, "it", c.on}.String() + "@" + of.String())
		for _, r := range []record{lifeline, file} {
			a := new(toldSystem).attempt(-1, Request{})
			if a.lives(r) != c.lives || a.isIDReused(r) != c.isReused {
				t.Errorf("%s: it lives: %v, its id is another's: %v", r.name, a.lives(r), a.isIDReused(r))
			}
			l := &Lock{dir: tempDir(t)}
			if h := l.lockedBy(a, []record{r}).Holders[0]; (h.PID == 0) != c.isReused {
				t.Errorf("%s: %+v", r.name, h)
			}
		}
	}
}

// TestHoldersOfAMovedDirectory: who looks while --remove takes the directory away finds nobody, and no broken lock.
func TestHoldersOfAMovedDirectory(t *testing.T) {
	dir := lockFile(t)
	state, err := openState(dir, true)
	must(err)
	defer state.close()
	mover, err := openState(dir, false)
	must(err)
	must(mover.MoveAway())
	mover.close()
	s := &thisSystem{state, openfile.Table{Opened: -1, FD: -1}}
	holders, err := newAttempt(t.Context(), s, &Lock{dir: dir, fd: -1, file: -1}, Request{}).everybody(dir)
	if err != nil || len(holders) > 0 {
		t.Errorf("%v, %v", holders, err)
	}
}
