package main

import (
	"strconv"
	"strings"
	"syscall"

	"example.org/flock/fallback"
)

// ownerFor returns the process that the directory lock of f is for. Two may
// have to do with it: then the other one, its keeper, is in the owner's tag.
func ownerFor(f *lockFile, o *options) (fallback.Owner, error) {
	pid, keeper := syscall.Getpid(), 0
	tag := ownerTag{number: f.fd, file: f.identity()}
	switch {
	case !forCommand(f, o):
		tag.kind = byNumber
		pid, keeper = descriptorOwners(o.callerProcess(), f.fd)
		if len(o.command) > 0 && !o.closeFd {
			pid, keeper = commandProcess(o.command), pid
		}
	case !o.closeFd:
		tag.kind = byCommand
		pid = commandProcess(o.command)
		if o.cooldown > 0 {
			// Between the end of the command and the setting of its cooldown,
			// which its supervisor does, nobody else may get in.
			keeper = supervisorOf(o)
		}
	}
	if keeper != 0 && keeper != pid {
		tag.keeper, _ = fallback.Process(keeper)
	}
	owner, err := fallback.Process(pid)
	owner.Tag = tag.String()
	return owner, err
}

// forCommand reports whether the lock is there for the command, or for flock
// itself with --close, rather than for the caller's open descriptor.
func forCommand(f *lockFile, o *options) bool {
	return f.named || len(o.command) > 0 && !callerHas(o.callerProcess(), f.fd)
}

// callerProcess returns the process that called flock, be it by way of its
// supervisor.
func (o *options) callerProcess() int {
	if o.supervisor != 0 {
		return o.caller
	}
	return syscall.Getppid()
}

// ownerTag is what the owner of a directory lock says besides its process:
// "fd9_FILE" or "cmd3_FILE", and after that "_PID_START" of its keeper.
type ownerTag struct {
	kind   string
	number int
	file   string         // identity of the locked file
	keeper fallback.Owner // the lock lasts while this one lives, too
}

const (
	byNumber  = "fd"  // it locked this descriptor, and may close it
	byCommand = "cmd" // it is a command that has this descriptor
)

func (t ownerTag) String() string {
	if t.kind == "" {
		return ""
	}
	s := t.kind + strconv.Itoa(t.number) + "_" + t.file
	if t.keeper.PID != 0 {
		s += "_" + strconv.Itoa(t.keeper.PID) + "_" + t.keeper.Start
	}
	return s
}

func tagOf(o fallback.Owner) (t ownerTag) {
	part := strings.SplitN(o.Tag+"___", "_", 5)
	for _, kind := range []string{byNumber, byCommand} {
		if digits, ok := strings.CutPrefix(part[0], kind); ok {
			if n, err := strconv.Atoi(digits); err == nil {
				t.kind, t.number = kind, n
			}
		}
	}
	t.file, t.keeper.Start = part[1], part[3]
	t.keeper.PID, _ = strconv.Atoi(part[2])
	return t
}

// sharedBy reports whether the owner, process pid, or its keeper has the lock by
// the open file that is our descriptor fd.
func (t ownerTag) sharedBy(pid, fd int) bool {
	return t.kind != "" && (sameDescriptor(pid, t.number, fd) ||
		t.kind == byNumber && t.keeper.PID != 0 && sameDescriptor(t.keeper.PID, t.number, fd))
}

// gone reports whether nobody has the lock any more although the owner, process
// pid, lives: neither it nor its keeper has the locked file open.
func (t ownerTag) gone(pid int) bool {
	return t.kind == byNumber && hasClosed(pid, t.number, t.file) && !t.kept()
}

// kept reports whether there is a keeper for whom the lock lasts.
func (t ownerTag) kept() bool {
	if t.keeper.PID == 0 {
		return false
	}
	keeper, err := fallback.Process(t.keeper.PID)
	if err != nil || keeper.Start != t.keeper.Start && keeper.Start != "" && t.keeper.Start != "" {
		return false
	}
	return t.kind != byNumber || !hasClosed(t.keeper.PID, t.number, t.file)
}
