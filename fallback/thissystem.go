package fallback

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"example.org/flock/fallback/openfile"
	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

// ownPID is the id of this process. The test that runs every interleaving replaces it.
var ownPID = os.Getpid()

// ownStart is the start of this process.
var ownStart = sync.OnceValue(func() uint64 { return proc.Start(os.Getpid()) })

// thisSystem is the machine, for an attempt.
type thisSystem struct {
	*stateDir
	openfile.Table
	closes int // tells when an open file is closed, see WatchFile; openfile.NotWatching: it is not watched
}

// newSystem returns the machine for an attempt with the file of a table.
func newSystem(s *stateDir, t openfile.Table) *thisSystem {
	return &thisSystem{stateDir: s, Table: t, closes: openfile.NotWatching}
}

func (*thisSystem) Now() time.Time        { return time.Now() }
func (*thisSystem) Sleep(d time.Duration) { sys.Sleep(d) }

// WatchFile begins to watch the locked file.
func (s *thisSystem) WatchFile() (begun bool) {
	if s.closes != openfile.NotWatching {
		return false
	}
	s.closes = s.WatchCloses()
	return s.closes != openfile.NotWatching
}

func (s *thisSystem) stopWatching() {
	if s.closes != openfile.NotWatching {
		openfile.CloseWatch(s.closes)
		s.closes = openfile.NotWatching
	}
}

// SeesAll reports whether this process may look into all processes: it may trace them, in the initial user namespace,
// and /proc shows all pid namespaces.
func (s *thisSystem) SeesAll() bool {
	return s.viewer.pidNS.isInitial() && s.viewer.user.namespace == initialUsers && openfile.MayTraceAll()
}

func (s *thisSystem) Wait(ctx context.Context, own lifeline, others []string, d time.Duration) (bool, error) {
	defer ringWhenCancelled(ctx, own)()
	if tellsEnd || len(others) == 0 {
		return s.wait(own, s.closes, others, d)
	}
	return s.waitAsking(own, others, d)
}

// waitAsking is wait where the system does not tell that a lifeline has ended: it asks.
func (s *thisSystem) waitAsking(own lifeline, others []string, limit time.Duration) (timedOut bool, err error) {
	const shortest, longest = 16 * time.Millisecond, 100 * time.Millisecond
	hasEnded := func(name string) bool { is := s.Ask(name); return is == noReader || is == noName }
	for step, end := shortest, time.Now().Add(limit); ; step = min(2*step, longest) {
		if slices.ContainsFunc(others, hasEnded) {
			return false, nil
		}
		left := time.Until(end)
		if left <= 0 {
			return true, nil
		}
		if timedOut, err = s.wait(own, s.closes, nil, min(step, left)); err != nil || !timedOut {
			return false, err
		}
	}
}

// ringWhenCancelled rings the own lifeline when ctx is cancelled, until stop is called.
func ringWhenCancelled(ctx context.Context, own lifeline) (stop func()) {
	rung := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		own.ring()
		close(rung)
	})
	return func() {
		if !cancel() {
			<-rung // the lifeline may be closed now
		}
	}
}
