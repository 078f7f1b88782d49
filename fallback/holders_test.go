package fallback

import (
	"testing"

	"example.org/flock/fallback/openfile"
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
