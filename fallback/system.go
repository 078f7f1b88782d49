package fallback

import (
	"context"
	"time"

	"example.org/flock/internal/sys"
)

// A system is what the protocol needs: a state directory, the lifelines and open files of processes, and a clock. The
// test that runs every interleaving has another one.
type system interface {
	// Machine is where this process runs.
	Machine() machine
	Now() time.Time
	Sleep(time.Duration)

	// List returns the names in the directory. While another process renames, it may miss both names or show both.
	List() ([]string, error)
	// Rename and Remove are atomic. Of a name that is not there they answer fs.ErrNotExist. A network filesystem may
	// carry them out and answer an error.
	Rename(old, new string) error
	Remove(name string) error
	// Reopen opens the directory that the path leads to now, and makes it if it is not there. MoveAway takes the
	// directory away from there and removes it.
	Reopen() error
	MoveAway() error

	// Make makes a FIFO that nobody has yet, and OpenLifeline opens and keeps it.
	Make(name string) error
	OpenLifeline(name string) (lifeline, error)
	CloseLifeline(lifeline)
	// Ask asks whether anybody has a lifeline.
	Ask(name string) answer
	// Ring wakes the process that waits with a lifeline.
	Ring(name string)
	// WatchFile has later calls of Wait end when an open file of the locked file is closed, which the kernel may or may
	// not tell. It reports whether it has begun to do so: what was closed before is not told.
	WatchFile() (begun bool)
	// Wait waits until the own lifeline is rung, one of the others may be gone, ctx is cancelled, or the time has
	// passed. It reports whether that was the reason.
	Wait(ctx context.Context, own lifeline, others []string, d time.Duration) (timedOut bool, err error)

	// Place returns where others look first for our open file.
	Place() (place, error)
	// Inode returns the inode number of the locked file, 0 if there is none.
	Inode() uint64
	// Marked reports whether our open file has the mark and the signal of f, and is of its inode.
	Marked(f *openFile) bool
	// Mark gives our open file the signal and the mark, and Unmark takes both away, if it has them.
	Mark(signal int, m mark) error
	Unmark()
	// At asks whether a marked open file of the inode is at the place of f. With sharesClock another start than that of
	// f means that its process has ended.
	At(f *openFile, sharesClock bool) answer
	// Search looks into all processes for an open file that is wanted.
	Search(query) view
	// SeesAll reports whether a search sees the processes of all users and of all pid namespaces.
	SeesAll() bool
	// HidesProcesses reports whether /proc does not even list the processes of other users.
	HidesProcesses() bool
	// Openers returns the processes other than this one that have the lifelines and open files of these records, by
	// name, as far as this process may see them. areTold is false on systems that do not tell.
	Openers(records []record) (openers map[string][]int, areTold bool)
}

// A query is what to search for.
type query struct {
	wanted    []*openFile // an open file like one of these,
	accounted []*openFile // but none of these, which were seen, and have records
	// Processes that were started then or later may hide it from an empty look, because they move their descriptors.
	since uint64
	// Whether to tell which processes refuse the look.
	tellRefused bool
	// When to give up, if by then each process was looked at once; zero: when it lasts too long.
	until time.Time
}

// A view is what a search has seen.
type view struct {
	found    bool      // there is an open file that is wanted
	at       place     // where it is
	certain  bool      // false: without kcmp(2) it may be one that is accounted for
	complete bool      // every process was looked at, but for those that refuse or hide, and no look has failed
	refused  []process // those that may not be looked into, and can have it; only with tellRefused
}

// A process is what everybody may know of it.
type process struct {
	start         uint64   // in clock ticks since boot; 0: unknown
	users, groups []string // its ids: real, effective, saved, and that for files; none: unknown
	isProtected   bool     // against looks by its own user, because it has had other rights
}

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
	return s.waitAsking(own, s.closes, others, d)
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
