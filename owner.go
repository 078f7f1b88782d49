package main

import (
	"errors"
	"strconv"
	"strings"
	"syscall"

	"example.org/flock/fallback"
)

// ownerFor returns the process that the directory lock of f is for, and its
// keeper if the lock is for two.
func ownerFor(f *lockFile, o *options) (fallback.Owner, error) {
	pid, keeper := syscall.Getpid(), 0
	tag := ownerTag{number: f.fd, file: f.identity()}
	eldest, caller, number := 0, 0, 0
	if !f.named {
		if o.callerProcess() == 0 && !o.holders {
			return fallback.Owner{}, errors.New("cannot lock for a caller outside of this pid namespace")
		}
		eldest, caller, number = descriptorOwners(o.callerProcess(), f.fd)
	}
	switch {
	case eldest != 0 && len(o.command) > 0 && !o.closeFd:
		tag.kind = byNumber
		pid, keeper = commandProcess(o.command), eldest
	case eldest != 0:
		tag.kind, tag.number = byNumber, number
		pid, keeper = eldest, caller
	case len(o.command) == 0:
		tag.kind = byNumber // which nobody has when we are done
	case !o.closeFd:
		tag.kind = byCommand
		pid = commandProcess(o.command)
		if o.cooldown > 0 {
			// Between the end of the command and the setting of its cooldown,
			// which its supervisor does, nobody else may get in.
			keeper = supervisorOf(o)
		}
	}
	owner, err := fallback.Process(pid)
	owner.Tag = tag.String()
	if keeper != 0 && keeper != pid {
		if k, err := fallback.Process(keeper); err == nil {
			owner.Keeper = fallback.Keeper{PID: k.PID, Start: k.Start}
		}
	}
	return owner, err
}

// callerProcess returns the process that called flock, be it by way of its
// supervisor. It is 0 if that cannot be seen from our pid namespace.
func (o *options) callerProcess() int {
	if o.supervisor != 0 {
		return o.caller
	}
	return syscall.Getppid()
}

// ownerTag is what the owner of a directory lock says besides its processes:
// "fd9_FILE" or "cmd3_FILE".
type ownerTag struct {
	kind   string
	number int
	file   string // identity of the locked file
}

const (
	byNumber  = "fd"  // it locked this descriptor, and may close it
	byCommand = "cmd" // it is a command that has this descriptor
)

func (t ownerTag) String() string {
	if t.kind == "" {
		return ""
	}
	return t.kind + strconv.Itoa(t.number) + "_" + t.file
}

func tagOf(o fallback.Owner) (t ownerTag) {
	name, file, _ := strings.Cut(o.Tag, "_")
	for _, kind := range []string{byNumber, byCommand} {
		if digits, ok := strings.CutPrefix(name, kind); ok {
			if n, err := strconv.Atoi(digits); err == nil {
				t.kind, t.number, t.file = kind, n, file
			}
		}
	}
	return t
}

// openedFile is what is to be known of the lock file to look for it among the
// descriptors of other processes.
type openedFile struct {
	path string
	// fd is our descriptor of it if we are the one who locks, else -1. If its
	// open file is all that a process has of the file, then either that process
	// has closed the one that it locked, or its lock is ours.
	fd int
	// waiters returns the processes that wait for the lock. nil: none.
	waiters func() []int
}

// isOurs reports whether process p of a lock has it by the open file that is
// our descriptor, or is the process for which we would lock, by the same number.
//
// The number is that of the locked open file; p may have others of the file.
// To let go of a lock it is enough if p has ours and no other one.
func isOurs(p, owner fallback.Owner, f *lockFile, file openedFile, op operation) bool {
	t := tagOf(p)
	switch {
	case f.named || t.kind == "" || t.kind == byCommand && isKeeper(p):
		return false
	case sameDescriptor(p.PID, t.number, f.fd):
		return true
	case t.kind != byNumber:
		return false
	case owner.PID == p.PID && owner.Start == p.Start && tagOf(owner).number == t.number:
		return true
	}
	file.fd = f.fd
	return op == unlock && hasDescriptor(p.PID, f.fd) && file.closedBy(p.PID, t.number, t.file)
}

// isGone reports whether process p of a lock, which lives, has closed the
// descriptor that it locked, for certain.
func isGone(p fallback.Owner, file openedFile) bool {
	t := tagOf(p)
	return t.kind == byNumber && file.closedBy(p.PID, t.number, t.file)
}

// isKeeper reports whether p, a process of a lock, is its keeper.
func isKeeper(p fallback.Owner) bool { return p.Keeper == fallback.Keeper{PID: p.PID, Start: p.Start} }
