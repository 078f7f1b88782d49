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
	// Busy is the mode of a Contender that is taking the lock, or removing its directory, and has not come to the end of
	// that for a second. It may have been stopped: until it continues or dies, nobody else can take the lock.
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
	file   *openfile.File // whose lock it is, where the name says or a search has found it; nil: it is a lifeline's

	verdict verdict // what a look has found
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
	doubtful verdict = iota // this process cannot tell: held
	over                    // nobody has it, for good; or its name has changed meanwhile, see judgeLifeline
	ours                    // it is what this attempt locks for
	held                    // somebody has it
	seen                    // an open file that is where its record says, or where a search has found it
	lost                    // an open file that is not where its record says: held, until a search proves more
)

// A snapshot is what one listing of the state directory shows.
type snapshot struct {
	tokens    []string // one; while it is renamed none or several may be seen
	holders   []record // in order of arrival
	waiters   []string // in order of arrival
	unused    []string // lifelines that are not open yet
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
	if word == waitName {
		r.mode = modeOf(fields[len(fields)-1])
		return r, ok
	}
	for _, field := range fields[1:] {
		if n, err := strconv.Atoi(field); err == nil {
			r.permit = n
		} else {
			r.file = openfile.Parse(field)
		}
	}
	return r, ok && (r.mode == Permit) == (r.permit > 0) && recordName(r.mode, r.id, r.permit, r.file) == name
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
	m, nonce := o.machine, o.nonce
	if o.start != 0 {
		nonce += "." + strconv.FormatUint(o.start, 36)
	}
	return strings.Join([]string{version, o.arrival, strconv.Itoa(o.pid), nonce,
		m.user.number + "." + m.user.group + "." + m.user.namespace, m.host, m.id, m.boot,
		m.pidNS.number + "." + m.pidNS.start1, m.device}, ",")
}

// parseOwner reads an ID.
func parseOwner(id string) (o owner, ok bool) {
	f := strings.Split(id, ",")
	if len(f) != 10 {
		return o, false
	}
	pid, err := strconv.ParseUint(f[2], 10, 31)
	nonce, started, _ := strings.Cut(f[3], ".")
	start, _ := strconv.ParseUint(started, 36, 64)
	number, groups, _ := strings.Cut(f[4], ".")
	group, users, _ := strings.Cut(groups, ".")
	pids, start1, _ := strings.Cut(f[8], ".")
	o = owner{f[1], int(pid), start, nonce, machine{user{number, group, users}, f[5], f[6], f[7],
		pidNamespace{pids, start1}, f[9]}}
	return o, err == nil && o.arrival != "" && o.nonce != "" && o.String() == id
}
