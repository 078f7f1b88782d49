// Package guard runs a command and terminates it, with all its descendants, when it exceeds its limit, when a newer run
// replaces it, when the lock is lost, or when the program that has the lock dies.
//
// That program may itself be stopped, starved or killed. So the command is the child of another process, the guard:
//
//	flock, flock-etcd   gives the orders
//	  └─ guard          in a session of its own; orphaned descendants of the command become its children (Linux)
//	     └─ command     the kernel kills it when the guard dies (Linux)
//
// To terminate processes the guard sends SIGTERM and SIGCONT once to every descendant that it finds. Descendants that
// start later get neither, since they may be cleaning up. Ten seconds later, or at once if somebody wants that, the
// guard sends SIGKILL to all that are left, until none is. It inherits the descriptors that hold the lock, and keeps
// them until then.
//
// If the guard is stopped, on Linux the kernel continues it when it has something to do: by timers, and when its parent
// dies. Elsewhere the guard terminates only the command's process group; compat_test tries that on Linux, too. See
// Deadlines.End for what keeps flock-etcd from running on when it has lost its lock.
//
// Read message.go first, what the two processes say to each other; then guard.go, the guard as its parent sees it, and
// run.go, the same for flock; then life.go, when the guard does what; runner.go, the process that does it; and
// family.go, which processes it finds.
package guard

import (
	"strings"
	"time"

	"example.org/flock/internal/locks"
)

// Rules say when the guard terminates the command and its descendants.
type Rules struct {
	Limit     time.Duration // how long the command may run; 0: for ever
	Leftovers bool          // terminate what the command leaves behind, too
	Ticket    locks.Ticket  // terminate all when a newer run has come
}

// A Command is one that flock runs, and terminates by its rules.
type Command struct {
	Argv     []string
	Rules    Rules
	ForGuard []int // descriptors that the guard gets, but not the command

	Note      func(line string) // that of output.Printer
	NotesMore bool              // and for what only some users want to know
}

// StatusAtLimit is the exit status after a command reached its limit, as with timeout(1).
const StatusAtLimit = 124

// Name is the name of a guard, its first word. It contains nothing that a search for flock or for the command, to kill
// them, could match.
const Name = "lock-guard"

// option is the second word of a guard. Its value is the size of a message, the descriptors of its socket and of the
// command's standard error, and those that are for the guard only.
const option = "--socket="

// leads is the second word of a process that only makes a process group.
const leads = "--leads"

// IsGuard reports whether a command line is that of a guard.
func IsGuard(commandLine string) bool { return strings.HasPrefix(commandLine, Name+" "+option) }
