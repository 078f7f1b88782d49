package fallback

import (
	"errors"
	"os"
	"strconv"
	"sync"
)

// Process returns the Owner for a process of this machine. The error says that there is none with that id.
func Process(pid int) (Owner, error) {
	if err := canTell(); err != nil {
		return Owner{}, err
	}
	start, exists := "", false
	if pid > 0 {
		start, exists = processStart(pid)
	}
	if !exists {
		return Owner{}, errors.New("there is no process " + strconv.Itoa(pid))
	}
	o := here()
	o.PID, o.Start = pid, start
	return o, nil
}

// own caches self.
var own Owner

// here is this machine: an Owner without a process.
var here = sync.OnceValue(func() Owner {
	o := machine()
	o.Host, _ = os.Hostname()
	return o.canonical()
})

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
// machine, and all its processes dead, only where the machine is known by more than its name: whole clusters are
// called "localhost". Everything else is unknown.
func judge(here, o Owner) fate {
	switch {
	case o.Boot == here.Boot && o.Boot != "":
	case o.Host != here.Host || o.machine != here.machine:
		return unknown
	case o.Boot == here.Boot:
	case o.Boot == "" || here.Boot == "" || here.machine == "":
		return unknown
	default:
		return dead
	}
	if o.Namespace != here.Namespace {
		return unknown
	}
	start, exists := processStart(o.PID)
	if !exists || start != o.Start && start != "" && o.Start != "" {
		return dead
	}
	return alive
}
