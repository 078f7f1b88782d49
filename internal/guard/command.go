// Package guard runs a command that is ended, with all its descendants, when it has run for too long, when a newer run
// replaces it, when the lock is lost, or when the program that has the lock dies.
//
// The command is the child of a process of its own, the guard, because that program may be stopped, starved or killed:
//
//	flock, flock-etcd   gives the orders
//	  └─ guard          in a session of its own; orphaned descendants of the command become its children (Linux)
//	     └─ command     the kernel kills it when the guard dies (Linux)
//
// All end in one way. Every descendant that is found gets SIGTERM and SIGCONT once. Nobody who comes later does, since
// that may be what cleans up. All who are there ten seconds later get SIGKILL, until nobody is left. The guard inherits
// the descriptors by which the lock is held, and has them until then.
//
// On Linux the kernel continues the guard when it has something to do, should it be stopped: by timers, and when its
// parent dies. Elsewhere only the command's process group is ended; compat_test tries that on Linux, too.
// See Deadlines.End for how flock-etcd is kept from running on when it has lost its lock.
//
// Read message.go first, what the two processes say to each other; then guard.go, the guard as its parent sees it, and
// run.go, which is that for flock; then life.go, when the guard does what; runner.go, the process that does it; and
// family.go, whom it finds.
package guard

import (
	"strings"
	"syscall"
	"time"

	"example.org/flock/internal/locks"
)

// Rules say how the command and what it has started end.
type Rules struct {
	Limit     time.Duration // the command may run for so long; 0: for any time
	Leftovers bool          // what the command has left behind is ended, too
	// If whoever gives orders is gone, all are ended within ten seconds, rather than until Deadlines.Kill.
	Supervised bool
	Ticket     locks.Ticket // all are ended when somebody newer has come
}

// A Command is one that flock runs, and ends by its rules.
type Command struct {
	Argv  []string
	Rules Rules
	Kept  []int // descriptors that the command does not get, but its guard

	Note     func(line string) // that of output.Printer
	NoteMore func(line string) // for what only some users want to know
}

// StatusAtLimit is the exit status when a command was ended at its limit, as that of timeout(1).
const StatusAtLimit = 124

// A Result is how a command has ended.
type Result struct {
	Status int
	Signal syscall.Signal // by which it died, if this process was sent that, too; 0: none
}

// Name is the name of a guard, its first word. It has nothing in it by which somebody may look for flock or for the
// command, to kill them.
const Name = "lock-guard"

// option is the second word of a guard. Its value is the number of a socket.
const option = "--socket="

// leads is the second word of a process that only makes a process group.
const leads = "--leads"

// IsGuard reports whether a command line is that of a guard.
func IsGuard(commandLine string) bool { return strings.HasPrefix(commandLine, Name+" "+option) }
