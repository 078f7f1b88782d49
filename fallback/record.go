package fallback

import (
	"slices"
	"strconv"
	"strings"
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

func (m Mode) String() string {
	if m == 0 || int(m) >= len(modeNames) {
		return "mode " + strconv.Itoa(int(m))
	}
	return modeNames[m]
}

// The first words of records. Each but free is followed by a comma and an owner.
const (
	free   = "free"
	busy   = "busy"
	excl   = "excl"
	shared = "shared"
	permit = "permit"
	wait   = "wait"
)

// wordOf is the first word of the record of a holder in this mode.
func wordOf(m Mode) string {
	return [...]string{Exclusive: excl, Shared: shared, Permit: permit, Busy: busy}[m]
}

func modeOf(word string) Mode {
	for _, m := range []Mode{Shared, Permit, Busy} {
		if wordOf(m) == word {
			return m
		}
	}
	return Exclusive
}

// A record is one name in the state directory: the token, a holder beside it, or a waiter.
type record struct {
	word  string
	owner owner
	name  string
}

func newRecord(word string, o owner) record { return record{word, o, word + "," + o.String()} }

// isToken reports whether the record is the token rather than a holder beside it.
func (r record) isToken() bool { return r.word == free || r.word == busy || r.word == excl }

// A snapshot is what one listing of the state directory shows.
type snapshot struct {
	token   record
	holders []record // shared and permit
	waiters []string // their names
}

func countWaiters(names []string) (n int) {
	for _, name := range names {
		if strings.HasPrefix(name, wait+",") {
			n++
		}
	}
	return n
}

// parse reads a listing. Names that are nothing like ours are somebody else's (a README, the .nfs* names that an NFS
// client leaves for open files) and do not count; a name that begins like ours and cannot be read is an error, because
// it may stand for a holder.
func parse(names []string) (s snapshot, complaint string) {
	var tokens []string
	for _, name := range names {
		word, rest, found := strings.Cut(name, ",")
		switch {
		case name == free:
			s.token = record{word: free, name: free}
			tokens = append(tokens, name)
		case !found:
		case word == wait:
			s.waiters = append(s.waiters, name)
		case word == busy, word == excl, word == shared, word == permit:
			o, ok := parseOwner(rest)
			if !ok {
				return s, "cannot read the name " + strconv.Quote(name)
			}
			r := record{word, o, name}
			if r.isToken() {
				s.token = r
				tokens = append(tokens, name)
				continue
			}
			if s.holders == nil { // hundreds of waiters are names only
				s.holders = make([]record, 0, len(names)-countWaiters(names))
			}
			s.holders = append(s.holders, r)
		}
	}
	switch len(tokens) {
	case 1:
		return s, ""
	case 0:
		return s, "its token is missing, perhaps removed by a cleaner of old files"
	}
	slices.Sort(tokens)
	return s, "it has more than one token: " + strings.Join(tokens, " and ")
}
