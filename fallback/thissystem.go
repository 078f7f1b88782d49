package fallback

import (
	"context"
	"os"
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
}

func (*thisSystem) Now() time.Time        { return time.Now() }
func (*thisSystem) Sleep(d time.Duration) { sys.Sleep(d) }

// SeesAll reports whether this process may look into all processes: it may trace them, in the initial user namespace,
// and /proc shows all pid namespaces.
func (s *thisSystem) SeesAll() bool {
	return s.viewer.pidNS.isInitial() && s.viewer.user.namespace == initialUsers && openfile.MayTraceAll()
}

func (s *thisSystem) Wait(ctx context.Context, own lifeline, others []string, d time.Duration) (bool, error) {
	defer ringWhenCancelled(ctx, own)()
	return s.wait(own, others, d)
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
