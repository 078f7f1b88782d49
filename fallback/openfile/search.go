package openfile

// A Query is what to search for.
type Query struct {
	Wanted    []*File // an open file like one of these,
	Accounted []*File // but none of these, which were seen, and have records
	// Processes that were started then or later may hide it from an empty look, because they move their descriptors. An
	// older one can have it, too, see File.LockerStart, but one look into it counts.
	Since uint64
	// Whether to tell which processes refuse the look.
	TellRefused bool
	// Whether to stop, which is asked when each process was looked at once, and again; nil: when it lasts too long.
	ShallStop func() bool
	// Is called all the time; nil: not.
	Working func()
}

// A View is what a search has seen.
type View struct {
	Found    bool      // there is an open file that is wanted
	At       Location  // where it is
	Certain  bool      // false: without kcmp(2) it may be one that is accounted for
	Complete bool      // every process was looked at, but for those that refuse or hide, and no look has failed
	Refused  []Process // those that may not be looked into, and can have it; only with TellRefused
}

// A Process is what everybody may know of it.
type Process struct {
	Start         uint64   // in clock ticks since boot; 0: unknown
	Users, Groups []string // its ids: real, effective, saved, and that for files; none: unknown
	IsProtected   bool     // against looks by its own user, because it has had other rights
}

// A Telling is what a system tells about the processes that have a file.
type Telling uint8

const (
	TellsNothing Telling = iota
	TellsSome            // there is a process into which this one may not look
	TellsAll
)
