package fallback

import (
	"time"

	"example.org/flock/internal/openfile"
	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

// storage is a state directory as the protocol uses it.
type storage interface {
	// List returns the names in the directory. While another process renames, it may miss both names or show both.
	List() ([]string, error)
	// Exists reports whether a name stands.
	Exists(name string) (bool, error)
	// Rename, Create and Remove are atomic. Rename and Remove of a name that is not there answer fs.ErrNotExist.
	Rename(old, new string) error
	Create(name string) error
	Remove(name string) error
}

// system is what the protocol asks about processes and their open files, and the clock. The test that runs every
// interleaving has another one.
type system interface {
	Fate(owner) fate
	// Owner returns the owner for a process of this machine.
	Owner(pid int) (owner, error)
	Now() time.Time
	Sleep(time.Duration)

	// Set, Clear and Has are about the mark of our own open file.
	Set() openfile.Mark
	Clear(openfile.Mark)
	Has(openfile.Mark) bool
	// At, In and Unmarked look at the descriptors of a process.
	At(s openfile.Search, p descriptor) openfile.State
	In(s openfile.Search, pid int, careful bool) (numbers []int, visible bool)
	Unmarked(s openfile.Search, p descriptor) bool
	// Moves reports whether a process may be moving its descriptors.
	Moves(pid int) bool
	// Activity returns a word for a process. KeepStill removes from such words, by process, those of processes that may have
	// changed their descriptors since.
	Activity(pid int) string
	KeepStill(words map[int]string)
	// Compare compares two descriptors, CompareOurs one with ours, which has the mark. If not steady, it takes no notice of
	// descriptors that move.
	Compare(s openfile.Search, p, q descriptor, steady bool) openfile.Comparison
	CompareOurs(s openfile.Search, p descriptor, steady bool) openfile.Comparison
	// Processes returns the ids of all processes in ascending order, and Last the id that was given out last, to a process
	// or to something else (IsProcess), or an error if nothing tells.
	Processes() ([]int, error)
	Last() (int, error)
	IsProcess(pid int) bool
	// Maker returns the parent of a process, 0 if that may be one that has adopted it.
	Maker(pid int) int
	// Age returns how long ago the process of an owner was started.
	Age(owner) time.Duration
	// MayDescend reports whether a process may be a descendant of this one.
	MayDescend(pid int) bool
}

// thisSystem is the machine, for a contender with a descriptor of the locked file, or with none (-1).
type thisSystem struct{ fd int }

func (thisSystem) Fate(o owner) fate            { return here().judge(o) }
func (thisSystem) Owner(pid int) (owner, error) { return process(pid) }
func (thisSystem) Now() time.Time               { return time.Now() }
func (thisSystem) Sleep(d time.Duration)        { sys.Sleep(d) }

func (s thisSystem) Set() openfile.Mark { return openfile.Set(s.fd) }

func (s thisSystem) Clear(m openfile.Mark)    { openfile.Clear(s.fd, m) }
func (s thisSystem) Has(m openfile.Mark) bool { return openfile.Has(s.fd, m) }

func (thisSystem) At(s openfile.Search, p descriptor) openfile.State { return s.At(p.pid, p.number) }
func (thisSystem) In(s openfile.Search, pid int, careful bool) ([]int, bool) {
	return s.In(pid, careful)
}
func (thisSystem) Unmarked(s openfile.Search, p descriptor) bool { return s.Unmarked(p.pid, p.number) }
func (thisSystem) Moves(pid int) bool                            { return openfile.Moves(pid) }
func (thisSystem) Activity(pid int) string                       { return openfile.Activity(pid) }
func (thisSystem) KeepStill(words map[int]string)                { openfile.KeepStill(words) }
func (thisSystem) Compare(s openfile.Search, p, q descriptor, steady bool) openfile.Comparison {
	return s.Compare(p.pid, p.number, q.pid, q.number, steady)
}

func (t thisSystem) CompareOurs(s openfile.Search, p descriptor, steady bool) openfile.Comparison {
	return s.CompareOurs(p.pid, p.number, t.fd, steady)
}

func (thisSystem) Processes() ([]int, error) { return proc.Processes() }
func (thisSystem) Last() (int, error)        { return proc.Last() }
func (thisSystem) IsProcess(pid int) bool    { return proc.IsProcess(pid) }
func (thisSystem) Maker(pid int) int         { return proc.Maker(pid) }

func (thisSystem) Age(o owner) time.Duration { return proc.Age(o.start) }

func (thisSystem) MayDescend(pid int) bool { return proc.MayDescend(pid) }
