package fallback

import "time"

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
