package fallback

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Mode is a way of holding a lock.
type Mode uint8

const (
	// Exclusive shuts everybody else out.
	Exclusive Mode = iota + 1
	// Shared shuts exclusive holders out.
	Shared
	// Permit is Shared for a limited number of holders at once.
	Permit
	// Busy is the mode of a Holder that has been taking or releasing the lock for a second, because it was stopped: until
	// it continues or dies nobody else can.
	Busy
)

var modeNames = [...]string{Exclusive: "exclusive", Shared: "shared", Permit: "permit", Busy: "busy"}

func (m Mode) String() string { return modeNames[m] }

// The names in a state directory. All but the first are followed by a comma and an ID, that of a waiter by "@" and the
// mode that it waits for, and that of a holder which is an open file by "@" and where that is.
const (
	free    = "free"
	busy    = "busy"
	newborn = "new"
	wait    = "wait"
	excl    = "excl"
	shared  = "shared"
	permit  = "permit"
)

var modeWords = [...]string{Exclusive: excl, Shared: shared, Permit: permit, Busy: busy}

func modeOf(word string) Mode { return Mode(max(0, slices.Index(modeWords[1:], word)+1)) }

// A record is the name of a holder, or of who has the token.
type record struct {
	name  string
	id    string
	mode  Mode
	owner owner
	file  *openFile // whose lock it is; nil: it is a lifeline's, which has this name

	verdict verdict   // since look
	moved   *openFile // where a search has found the open file
}

// An openFile is an open file that has a lock.
type openFile struct {
	place
	inode  uint64 // of the locked file
	mark   mark
	signal int // by which it knows its record
}

// A place is a descriptor of a process.
type place struct{ pid, number int }

func (f openFile) String() string {
	return fmt.Sprintf("%d.%d.%d.%c.%d", f.pid, f.number, f.signal, f.mark, f.inode)
}

func parseOpenFile(s string) (*openFile, bool) {
	f := new(openFile)
	fmt.Sscanf(s, "%d.%d.%d.%c.%d", &f.pid, &f.number, &f.signal, &f.mark, &f.inode)
	return f, f.String() == s && min(f.pid, f.number, f.signal) >= 0
}

// recordName is the name of a holder whose open file is f; nil: none.
func recordName(m Mode, id string, f *openFile) string {
	name := modeWords[m] + "," + id
	if f != nil {
		name += "@" + f.String()
	}
	return name
}

// A snapshot is what one listing of the state directory shows.
type snapshot struct {
	tokens    []string // one, but while it is renamed none or several may be seen
	holders   []record // in order of arrival
	lifelines []string // of holders, of waiters, and newborn
	waiters   []string // in order of arrival
	newborn   []string
}

// nameOf returns the name of the lifeline with this ID.
func (s *snapshot) nameOf(id string) string {
	for _, name := range s.lifelines {
		if idOf(name) == id {
			return name
		}
	}
	return ""
}

// idOf returns the ID in a name.
func idOf(name string) string {
	_, id, _ := strings.Cut(name, ",")
	id, _, _ = strings.Cut(id, "@")
	return id
}

// parse reads a listing. Names that are nothing like ours are somebody else's (a README, the .nfs* names that an NFS
// client leaves for open files) and do not count; a name that begins like ours and cannot be read is an error, because
// it may stand for a holder.
func parse(names []string) (s snapshot, err error) {
	slices.Sort(names)
	for _, name := range names {
		word, _, found := strings.Cut(name, ",")
		switch {
		case name == free:
			s.tokens = append(s.tokens, name)
		case !found:
		case word == newborn:
			s.newborn = append(s.newborn, name)
		case word == wait:
			s.waiters = append(s.waiters, name)
		case modeOf(word) > 0:
			r, ok := parseRecord(name)
			if !ok {
				return s, stateError("cannot read the name " + strconv.Quote(name) + removeIt)
			}
			if r.mode == Busy {
				s.tokens = append(s.tokens, name)
				continue
			}
			s.holders = append(s.holders, r)
			if r.file == nil {
				s.lifelines = append(s.lifelines, name)
			}
		}
	}
	s.lifelines = slices.Concat(s.lifelines, s.waiters, s.newborn)
	slices.SortFunc(s.holders, func(a, b record) int { return cmp.Compare(a.id, b.id) })
	return s, nil
}

func parseRecord(name string) (r record, ok bool) {
	word, rest, _ := strings.Cut(name, ",")
	id, file, isFile := strings.Cut(rest, "@")
	r = record{name: name, id: id, mode: modeOf(word)}
	r.owner, ok = parseOwner(id)
	switch {
	case word == wait:
		r.mode = modeOf(file)
	case ok && isFile:
		r.file, ok = parseOpenFile(file)
	}
	return r, ok
}

// An owner is who has made a record; its ID says it.
type owner struct {
	arrival string // when it began to wait, in microseconds since 1970, of a fixed width: names sort by it
	pid     int    // in its pid namespace
	nonce   string // makes the ID unique in history
	machine
}

// nonce returns 64 random bits. The test that runs every interleaving replaces it.
var nonce = func() string { return strconv.FormatUint(rand.Uint64(), 36) }

// newID returns an ID for this process.
func newID(pid int, now time.Time, m machine) string {
	return owner{fmt.Sprintf("%013x", max(0, now.UnixMicro())), pid, nonce(), m}.String()
}

func (o owner) String() string {
	return strings.Join([]string{o.arrival, strconv.Itoa(o.pid), o.nonce, o.host, o.id, o.boot, o.namespace, o.device}, ",")
}

func parseOwner(id string) (o owner, ok bool) {
	f := strings.Split(id, ",")
	if len(f) != 8 || f[0] == "" || f[2] == "" {
		return o, false
	}
	n, err := strconv.ParseUint(f[1], 10, 31)
	return owner{f[0], int(n), f[2], machine{f[3], f[4], f[5], f[6], f[7]}}, err == nil
}
