package fallback

import (
	"sort"
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
	// Permit is Shared for at most Request.Permits holders of a permit at once.
	Permit
	// Busy is the mode of a Holder that has been taking or releasing the lock for a second, as it was stopped there:
	// until it goes on or dies nobody else can. Nobody asks for it.
	Busy
)

func (m Mode) String() string {
	switch m {
	case Exclusive:
		return "exclusive"
	case Shared:
		return "shared"
	case Permit:
		return "permit"
	case Busy:
		return "busy"
	}
	return "mode " + strconv.Itoa(int(m))
}

// free is the name of the token while nobody has it; kindBusy and kindExcl are followed by an ID.
const free = "free"

type kind string

const (
	kindFree   kind = free
	kindBusy   kind = "busy"
	kindExcl   kind = "excl"
	kindShared kind = "shared"
	kindPermit kind = "permit"
)

// kindOf is the record that a holder in mode m has.
func kindOf(m Mode) kind {
	switch m {
	case Exclusive:
		return kindExcl
	case Shared:
		return kindShared
	}
	return kindPermit
}

func (k kind) mode() Mode {
	switch k {
	case kindShared:
		return Shared
	case kindPermit:
		return Permit
	case kindBusy:
		return Busy
	}
	return Exclusive
}

// A record is one name in the state directory: the token, or a holder beside it.
type record struct {
	kind  kind
	owner Owner
	name  string
}

func newRecord(k kind, o Owner) record { return record{k, o, string(k) + "," + o.id()} }

// A view is what one look into the state directory shows.
type view struct {
	token   record
	holders []record // shared and permit
}

// parse reads a listing. Names that are nothing like ours are somebody else's (a README, the .nfs* names that an NFS
// client leaves for open files) and do not count; a name that begins like ours and cannot be read is an error, for
// it may stand for a holder.
func parse(names []string) (v view, complaint string) {
	var tokens []string
	for _, name := range names {
		if name == free {
			v.token = record{kind: kindFree, name: free}
			tokens = append(tokens, name)
			continue
		}
		first, id, found := strings.Cut(name, ",")
		if !found {
			continue
		}
		switch k := kind(first); k {
		case kindBusy, kindExcl, kindShared, kindPermit:
			o, ok := parseID(id)
			if !ok {
				return v, "cannot make out " + strconv.Quote(name)
			}
			r := record{k, o, name}
			if k == kindShared || k == kindPermit {
				if v.holders == nil {
					v.holders = make([]record, 0, len(names))
				}
				v.holders = append(v.holders, r)
			} else {
				v.token = r
				tokens = append(tokens, name)
			}
		}
	}
	switch len(tokens) {
	case 1:
		return v, ""
	case 0:
		return v, "its token is missing, perhaps removed by a cleaner of old files"
	}
	sort.Strings(tokens)
	return v, "it has more than one token: " + strings.Join(tokens, " and ")
}
