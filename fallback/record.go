package fallback

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/flock/fallback/openfile"
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
	// Busy is the mode of a Contender that is taking or releasing the lock, and has not done so for a second or until the
	// deadline. It may have been stopped: until it continues or dies, nobody else can take the lock.
	Busy
)

var modeNames = [...]string{Exclusive: "exclusive", Shared: "shared", Permit: "permit", Busy: "busy"}

func (m Mode) String() string { return modeNames[m] }

// version is that of the names, and is the first field of each ID. Whoever changes what a name means changes it, and
// has the name of a holder still begin with one of these words: then all who know another version refuse the lock.
const version = "v1"

// The names in a state directory. All but the first are followed by a comma and an ID; then, behind an "@" each, that
// of a waiter by the mode that it waits for, that of a permit by its number, and that of a holder which is an open file
// by where that is.
const (
	free       = "free"
	busy       = "busy"
	newName    = "new"
	waitName   = "wait"
	exclName   = "excl"
	sharedName = "shared"
	permitName = "permit"
)

var modeWords = [...]string{Exclusive: exclName, Shared: sharedName, Permit: permitName, Busy: busy}

func modeOf(word string) Mode { return Mode(max(0, slices.Index(modeWords[1:], word)+1)) }

// A record is the name of a holder, of a waiter, or of who has the token, and what a look has found about it.
type record struct {
	name   string
	id     string
	mode   Mode
	owner  owner
	permit int            // its number, from 1; 0: it is none
	file   *openfile.File // whose lock it is; nil: it is a lifeline's, which has this name

	verdict verdict        // what a look has found
	isSeen  bool           // its open file was seen, where the name says or where it has moved
	moved   *openfile.File // where a search has found the open file; nil: where the name says
}

// isElsewhere reports whether the open file of a record was found in another process than the one that has locked. All
// that is known of that is the mark, which a program can also have set for purposes of its own.
func (r record) isElsewhere() bool {
	f := r.file
	if r.moved != nil {
		f = r.moved
	}
	return f != nil && f.Start != r.file.LockerStart
}

// recordName is the name of a holder. permit is the number of its permit, and f its open file: 0 and nil if there is
// none.
func recordName(m Mode, id string, permit int, f *openfile.File) string {
	name := modeWords[m] + "," + id
	if permit > 0 {
		name += "@" + strconv.Itoa(permit)
	}
	if f != nil {
		name += "@" + f.String()
	}
	return name
}

// waiterName is the name of a waiter.
func waiterName(id string, wants Mode) string { return waitName + "," + id + "@" + modeWords[wants] }

// A verdict says what is known of the holder that a record stands for. What is not known counts as held.
type verdict uint8

const (
	doubtful     verdict = iota // this process cannot tell: held
	over                        // nobody has it, for good; or its name has changed meanwhile, see judgeLifeline
	ours                        // it is what this attempt locks for
	held                        // somebody has it
	lost                        // an open file that is not where its record says: held, until a search proves more
	unsearchable                // it is lost, and a search would prove nothing: held
)

// A snapshot is what one listing of the state directory shows.
type snapshot struct {
	tokens    []string // one; while it is renamed none or several may be seen
	holders   []record // in order of arrival
	waiters   []string // in order of arrival
	unused    []string // lifelines that are not open yet, or that have been released
	lifelines []string // all of them: of holders, of waiters, and unused ones
}

// lifelineOf returns the name of the lifeline with this ID, "" if there is none.
func (s *snapshot) lifelineOf(id string) string {
	for _, name := range s.lifelines {
		if idOf(name) == id {
			return name
		}
	}
	return ""
}

// token returns the token, "" if the listing shows none or several.
func (s *snapshot) token() string {
	if len(s.tokens) != 1 {
		return ""
	}
	return s.tokens[0]
}

// idOf returns the ID in a name.
func idOf(name string) string {
	_, id, _ := strings.Cut(name, ",")
	id, _, _ = strings.Cut(id, "@")
	return id
}

// parse reads a listing. Names that are nothing like ours are somebody else's (a README, the .nfs* names that an NFS
// client leaves for open files) and do not count; a name that begins like a holder's and cannot be read is an error.
func parse(names []string) (s snapshot, err error) {
	slices.Sort(names)
	for _, name := range names {
		word, _, hasID := strings.Cut(name, ",")
		switch {
		case name == free:
			s.tokens = append(s.tokens, name)
		case !hasID:
		case word == newName:
			s.unused = append(s.unused, name)
		case word == waitName:
			s.waiters = append(s.waiters, name)
		case modeOf(word) > 0:
			r, ok := parseRecord(name)
			if !ok {
				return s, stateError("cannot read the name " + strconv.Quote(name) + " as one of version " + version +
					removeIt)
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
	s.lifelines = slices.Concat(s.lifelines, s.waiters, s.unused)
	slices.SortFunc(s.holders, func(a, b record) int { return cmp.Compare(a.id, b.id) })
	return s, nil
}

// parseRecord reads a name that begins with a word, a comma and an ID. Behind the ID is the mode of a waiter, or of a
// holder the number of its permit and its open file, if it has these.
func parseRecord(name string) (r record, ok bool) {
	word, rest, _ := strings.Cut(name, ",")
	fields := strings.Split(rest, "@")
	r = record{name: name, id: fields[0], mode: modeOf(word)}
	r.owner, ok = parseOwner(r.id)
	fields = fields[1:]
	if word == waitName {
		if len(fields) == 1 {
			r.mode = modeOf(fields[0])
		}
		return r, ok
	}
	if ok && r.mode == Permit {
		if len(fields) == 0 {
			return r, false
		}
		r.permit, ok = parsePermit(fields[0])
		fields = fields[1:]
	}
	if ok && len(fields) > 0 {
		r.file, ok = openfile.Parse(fields[0])
	}
	return r, ok && len(fields) <= 1
}

func parsePermit(s string) (number int, ok bool) {
	number, _ = strconv.Atoi(s)
	return number, number > 0 && strconv.Itoa(number) == s
}

// An owner is the process that has made an ID, and with it a lifeline, a record or the name of a token.
type owner struct {
	arrival string // when it began to wait, in microseconds since 1970, of a fixed width: names sort by it
	pid     int    // in its pid namespace
	start   uint64 // of that process, in clock ticks since boot; 0: unknown
	nonce   string // makes the ID unique in history
	machine
}

// newID returns an ID for this process.
func newID(pid int, start uint64, now time.Time, m machine) string {
	arrival := fmt.Sprintf("%013x", max(0, now.UnixMicro()))
	return owner{arrival, pid, start, nonce(), m}.String()
}

func (o owner) String() string {
	nonce := o.nonce
	if o.start != 0 {
		nonce += "." + strconv.FormatUint(o.start, 36)
	}
	return strings.Join([]string{version, o.arrival, strconv.Itoa(o.pid), nonce, o.machine.String()}, ",")
}

func parseOwner(id string) (o owner, ok bool) {
	fields := strings.Split(id, ",")
	if len(fields) < 4 || fields[0] != version || fields[1] == "" {
		return o, false
	}
	pid, err := strconv.ParseUint(fields[2], 10, 31)
	nonce, started, _ := strings.Cut(fields[3], ".")
	start, _ := strconv.ParseUint(started, 36, 64)
	m, ok := parseMachine(fields[4:])
	o = owner{fields[1], int(pid), start, nonce, m}
	return o, ok && err == nil && nonce != "" && o.String() == id
}
