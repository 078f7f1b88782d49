package fallback

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"

	"example.org/flock/internal/proc"
)

// Process returns the Owner for a process of this machine. The error says that there is none with that id.
func Process(pid int) (Owner, error) {
	if err := proc.CanTell(); err != nil {
		return Owner{}, err
	}
	start, exists := "", false
	if pid > 0 {
		start, exists = proc.Start(pid)
	}
	if !exists {
		return Owner{}, errors.New("there is no process " + strconv.Itoa(pid))
	}
	o := here()
	o.PID, o.Start = pid, start
	return o, nil
}

// here is this machine: an Owner without a process.
var here = sync.OnceValue(func() Owner {
	m := proc.ThisMachine()
	o := Owner{Boot: m.Boot, Namespace: m.Namespace}
	if m.ID != "" {
		o.machine = digest(m.ID) // machine-id(5) must not be shown to others
	}
	o.Host, _ = os.Hostname()
	return o.canonical()
})

// outermost reports whether an Owner's Namespace is that of the machine itself, rather than of a container: the inode
// number of the initial pid namespace is PROC_PID_INIT_INO, include/linux/proc_ns.h, on every Linux.
func outermost(namespace string) bool { return strings.HasPrefix(namespace, "4026531836.") }

// canonical returns the owner as its own names give it back: with parts too long for a file name shortened.
func (o Owner) canonical() Owner {
	if o.PID == 0 {
		o.PID = 1
		o = o.canonical()
		o.PID = 0
		return o
	}
	o.nonce = "0"
	o, _ = parseID(o.id())
	o.nonce = ""
	return o
}

// judge tells the fate of a process, given what here says of this machine.
//
// The same boot is the same kernel, whatever the machine is called by now. Another boot is an earlier one of this
// machine, and all its processes dead, only where its name and its identity are both known and the same, and neither the
// process nor we are in a container: whole clusters are called "localhost", copies of a disk share an identity, and what
// a container shows of either can be another machine's. Everything else is unknown.
func judge(here, o Owner) fate {
	switch {
	case o.Boot == here.Boot && o.Boot != "":
	case o.Host != here.Host || o.machine != here.machine:
		return unknown
	case o.Boot == here.Boot:
	case o.Boot == "" || here.Boot == "" || here.machine == "" || here.Host == "":
		return unknown
	case !outermost(o.Namespace) || !outermost(here.Namespace):
		return unknown
	default:
		return dead
	}
	if o.Namespace != here.Namespace {
		return unknown
	}
	start, exists := proc.Start(o.PID)
	if !exists || start != o.Start && start != "" && o.Start != "" {
		return dead
	}
	return alive
}
