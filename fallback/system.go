package fallback

import (
	"time"

	"example.org/flock/internal/sys"
)

// A system is what the protocol needs: a state directory, the lifelines and open files of processes, and a clock. The test that
// runs every interleaving has another one.
type system interface {
	// List returns the names in the directory. While another process renames, it may miss both names or show both.
	List() ([]string, error)
	// Rename and Remove are atomic. Of a name that is not there they answer fs.ErrNotExist.
	Rename(old, new string) error
	Remove(name string) error
	// Touch makes a name young for a cleaner of old files. Ask and At do so if it is older than half a day.
	Touch(name string)
	// Machine is where this process runs.
	Machine() machine

	// Reopen opens the directory that the path leads to now, and makes it if it is not there. MoveAway takes the directory away
	// from there and removes it.
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
	// Wait waits until the own lifeline is rung, one of the others may be gone, or the time has passed. It reports whether
	// that was the reason.
	Wait(own lifeline, others []string, d time.Duration) (timedOut bool, err error)

	Now() time.Time
	Sleep(time.Duration)

	// Place returns where others look first for our open file.
	Place() (place, error)
	// Inode returns the inode number of the locked file, 0 if there is none.
	Inode() uint64
	// Marked reports whether our open file has the mark and the signal of f, and is of its inode.
	Marked(f *openFile) bool
	// Mark gives our open file the signal and the mark, and Unmark takes both away.
	Mark(signal int, m mark) error
	Unmark(mark)
	// At asks whether the open file of a record is at this place.
	At(record string, f *openFile) answer
	// Search looks in all processes for an open file like one of wanted, for which none of known stands. It returns where it is,
	// and whether there is one.
	Search(wanted, known []*openFile) (place, answer)
	// Openers returns the processes other than this one that have the lifelines and open files of these records, by name.
	Openers(records []record) map[string][]int
}

// A mark is a status flag that marks an open file.
type mark byte

const (
	// noAtime is O_NOATIME. Only the owner of the file and the superuser may set it, and no program clears it.
	noAtime mark = 'a'
	// nonBlock is O_NONBLOCK, which has no effect on files and directories.
	nonBlock mark = 'n'
)

// An answer says whether somebody has a lifeline or an open file.
type answer uint8

const (
	gone    answer = iota // nobody has it, for good
	alive                 // somebody has it
	absent                // there is no such name or descriptor
	strange               // it is no lifeline; it counts as alive
	unknown               // this process cannot tell; it counts as alive
)

// thisSystem is the machine, for a contender with a descriptor of the locked file, or with none (-1).
type thisSystem struct {
	*stateDir
	file string // the path of the locked file
	fd   int
}

func (thisSystem) Now() time.Time        { return time.Now() }
func (thisSystem) Sleep(d time.Duration) { sys.Sleep(d) }
