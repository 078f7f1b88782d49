package fallback

import (
	"errors"
	"os"
	"testing"
	"time"

	"example.org/flock/fallback/openfile"
)

// A slowSystem takes two seconds for a search, or is stopped in it.
type slowSystem struct {
	*thisSystem
	searches  chan struct{} // is closed when a search begins
	stopped   bool
	continues chan struct{} // is closed when the search goes on
}

func (s *slowSystem) Search(q openfile.Query) openfile.View {
	close(s.searches)
	for end := time.Now().Add(2 * stuck); !s.stopped && time.Now().Before(end); time.Sleep(time.Millisecond) {
		q.Working()
	}
	if s.stopped {
		<-s.continues
	}
	return s.thisSystem.Search(q)
}

// lostRecord makes a record of a process that has ended.
func lostRecord(t *testing.T, dir string, m Mode) {
	t.Helper()
	s, err := openState(dir, true)
	must(err)
	defer s.close()
	id, _, err := statOf(dir)
	must(err)
	f := openfile.File{Location: openfile.Location{PID: 1 << 29, Start: 1, Number: 9}, FileID: id, Mark: openfile.NoAtime,
		Signal: 3, LockerStart: 1}
	must(s.Make(recordName(m, newID(ownPID, ownStart(), time.Now(), s.Machine()), 0, &f)))
}

func statOf(dir string) (id openfile.FileID, t openfile.Table, err error) {
	path, _ := lockedPath(dir)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return id, t, err
	}
	defer f.Close()
	t = openfile.Table{Path: path, Opened: -1, FD: -1}
	return t.ID(), t, nil
}

// TestSlowSearch: a search that takes long keeps nobody out who tries, and is no holder, as long as it goes on.
func TestSlowSearch(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		dir := lockFile(t)
		lostRecord(t, dir, Exclusive)
		_, table, err := statOf(dir)
		must(err)
		state, err := openState(dir, true)
		must(err)
		s := &slowSystem{&thisSystem{state, table}, make(chan struct{}), stopped, make(chan struct{})}
		l := &Lock{dir: dir, fd: -1, file: -1, state: state}
		isDone := make(chan error)
		go func() {
			a := newAttempt(t.Context(), s, l, Request{Mode: Shared})
			isHeld, _, err := a.acquire(nil)
			if l.end(a, isHeld); err == nil && !isHeld {
				err = errors.New("not held")
			}
			isDone <- err
		}()
		<-s.searches
		holders, err := newLock(dir).Contenders()
		isNamed := false
		for _, h := range holders {
			isNamed = isNamed || !h.Waiting
		}
		if err != nil || isNamed != stopped {
			t.Errorf("stopped %v: the holders are %v, %v", stopped, holders, err)
		}
		other := newLock(dir)
		if err := other.TryRLock(); isLocked(err) != stopped {
			t.Errorf("stopped %v: %v", stopped, err)
		}
		close(s.continues)
		if err := <-isDone; err != nil {
			t.Errorf("stopped %v: who searches: %v", stopped, err)
		}
		must(other.Unlock())
		must(l.Unlock())
		settled(t, dir)
	}
}

// TestSearchNotNeeded: who shares the lock with what is lost does not search for it.
func TestSearchNotNeeded(t *testing.T) {
	dir := lockFile(t)
	lostRecord(t, dir, Shared)
	_, table, err := statOf(dir)
	must(err)
	state, err := openState(dir, true)
	must(err)
	l := &Lock{dir: dir, fd: -1, file: -1, state: state}
	s := &slowSystem{&thisSystem{state, table}, make(chan struct{}), false, nil}
	a := newAttempt(t.Context(), s, l, Request{Mode: Shared})
	isHeld, _, err := a.acquire(nil)
	l.end(a, isHeld)
	if err != nil || !isHeld {
		t.Error(isHeld, err)
	}
	select {
	case <-s.searches:
		t.Error("it has searched")
	default:
	}
	must(l.Unlock())
}
