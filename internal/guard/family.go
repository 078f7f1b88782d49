//go:build unix

package guard

import (
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/sys"
)

// earlier are the children that this process had before the guard: known on Linux.
var earlier []int

// isOfTheDead reports whether a process group has only processes that have ended and wait for their parents, if a signal
// to it is an error then. Only macOS and tests change it.
var isOfTheDead = func(group int) bool { return false }

// signalGroup sends a signal to a process group. Only tests change it.
var signalGroup = func(group int, s unix.Signal) error { return unix.Kill(-group, s) }

// A family is the command with what it has started, as far as that can be found.
type family struct {
	command  int       // its process id, until it was reaped; 0: it does not run
	group    int       // its process group, if it has one of its own; it is not the leader
	list     []process // of the last look
	previous []process // of the look before
	empty    int       // how many looks have found nobody
	finder   finder    // see find
}

// look makes the list, and reports whether it is the same as that of the last look.
func (f *family) look() (isSame bool) {
	f.list, f.previous = f.previous[:0], f.list
	if f.find(); len(f.list) == 0 {
		f.empty++
	}
	return slices.EqualFunc(f.list, f.previous, process.is)
}

// count looks until two looks find the same.
func (f *family) count() {
	f.look()
	for end := Now() + mostOfCount; Now() < end; {
		unix.Poll(nil, pauseOfCount)
		if f.look() {
			return
		}
	}
}

// pass sends the command a signal, with its process group, if it has one of its own and has not left that.
func (f *family) pass(s syscall.Signal) {
	if f.isInGroup() {
		unix.Kill(-f.group, s)
	} else {
		unix.Kill(f.command, s)
	}
}

// sendAll sends a signal to all who are there.
func (f *family) sendAll(s syscall.Signal) {
	f.look()
	for _, p := range f.list {
		f.send(p, s)
	}
}

func (f *family) isInGroup() bool {
	group, err := unix.Getpgid(f.command)
	return err == nil && group == f.group
}

// findGroup appends the process group to a list, and the command if it is not in that, where the system does not show
// the descendants.
func (f *family) findGroup(list []process) []process {
	if f.group != 0 {
		switch err := signalGroup(f.group, 0); {
		case err == unix.ESRCH: // nobody is left in it, so the number may be another's from now on
			f.group = 0
		case err == unix.EPERM && isOfTheDead(f.group): // nobody who has not ended
		default:
			list = append(list, process{pid: -f.group, isChild: true})
		}
	}
	isInGroup := f.group != 0 && f.isInGroup()
	if f.command != 0 && !isInGroup && unix.Kill(f.command, 0) != unix.ESRCH {
		list = append(list, process{pid: f.command, isChild: true})
	}
	return list
}

// reapAll reaps the children that have ended, says so, and reports whether there are others.
func reapAll(note func(pid int, w syscall.WaitStatus)) (hasOthers bool) {
	for {
		var status syscall.WaitStatus
		pid, err := sys.Wait4(-1, &status, syscall.WNOHANG)
		if pid <= 0 {
			return err == nil
		}
		note(pid, status)
	}
}

// A process is one of this moment: its number may be that of another one later on.
type process struct {
	pid     int    // negative: it stands for a process group
	start   uint64 // see proc.Stat; 0: it is unknown
	isChild bool   // so its number stays its own until this process reaps it
}

// is reports whether both are the same process.
func (p process) is(q process) bool { return p.pid == q.pid && p.start == q.start }

// number returns the process id, or that of a process group.
func (p process) number() int { return max(p.pid, -p.pid) }
