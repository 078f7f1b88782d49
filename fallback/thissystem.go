package fallback

import (
	"context"
	"os"
	"slices"
	"time"

	"example.org/flock/internal/sys"
)

// ownPID is the id of this process. The test that runs every interleaving replaces it.
var ownPID = os.Getpid()

// thisSystem is the machine, for an attempt.
type thisSystem struct {
	*stateDir
	file   string // the path of the locked file, "" if it is not known
	opened int    // a descriptor of the locked file, or -1
	fd     int    // the same, if its open file is to have the lock, or -1
	closes int    // tells when an open file is closed, see WatchFile; notWatching: it is not watched
}

func (*thisSystem) Now() time.Time        { return time.Now() }
func (*thisSystem) Sleep(d time.Duration) { sys.Sleep(d) }

// WatchFile begins to watch the locked file.
func (s *thisSystem) WatchFile() (begun bool) {
	if s.closes != notWatching {
		return false
	}
	s.closes = watchCloses(s.opened, s.file)
	return s.closes != notWatching
}

func (s *thisSystem) stopWatching() {
	if s.closes != notWatching {
		closeWatch(s.closes)
		s.closes = notWatching
	}
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
	hasEnded := func(name string) bool { is := s.Ask(name); return is == gone || is == absent }
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
