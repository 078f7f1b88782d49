package fallback

import (
	"context"
	"time"

	"example.org/flock/fallback/openfile"
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
	// Reopen opens the directory that the path leads to now. With make, it makes one that is not there. MoveAway takes
	// the directory away from there and removes it.
	Reopen(make bool) error
	MoveAway() error

	// Make makes a FIFO that nobody has yet, and OpenLifeline opens and keeps it.
	Make(name string) error
	OpenLifeline(name string) (lifeline, error)
	CloseLifeline(lifeline)
	// Ask asks whether anybody has a lifeline.
	Ask(name string) answer
	// Ring wakes the process that waits with a lifeline.
	Ring(name string)
	// Wait waits until the own lifeline is rung, ctx is cancelled, the time has passed or, where the system tells that,
	// one of the others may be gone. It reports whether the time was the reason.
	Wait(ctx context.Context, own lifeline, others []string, d time.Duration) (timedOut bool, err error)

	// Locate returns where others look first for our open file.
	Locate() (openfile.Location, error)
	// ID returns the identity of the locked file, zero if that is unknown.
	ID() openfile.FileID
	// Marked reports whether our open file has the mark and the signal of f, and is of its file.
	Marked(f *openfile.File) bool
	// Mark gives our open file the signal and the mark, and Unmark takes both away, if it has them.
	Mark(signal int, m openfile.Mark) error
	Unmark()
	// At asks whether a marked open file of its file is at the location of f. With sharesClock another start than that of
	// f means that its process has ended.
	At(f *openfile.File, sharesClock bool) openfile.Answer
	// Search looks into all processes for an open file that is wanted.
	Search(openfile.Query) openfile.View
	// SeesAll reports whether a search sees the processes of all users and of all pid namespaces.
	SeesAll() bool
	// HidesProcesses reports whether /proc does not even list the processes of other users.
	HidesProcesses() bool
	// Openers returns the processes other than this one that have the lifelines and open files of these records, by
	// name, as far as this process may see them.
	Openers(records []record) (openers map[string][]int, told openfile.Telling)
}
