package main

import (
	"strconv"
	"strings"
	"syscall"

	"example.org/flock/fallback"
)

// ownerFor returns the process that the directory lock of f is for.
func ownerFor(f *lockFile, o *options) (fallback.Owner, error) {
	pid, tag := syscall.Getpid(), ownerTag{}
	switch {
	case !forCommand(f, o):
		pid, tag = descriptorOwner(f.fd), ownerTag{byNumber, f.fd, fallback.Owner{}}
	case !o.closeFd:
		pid = commandProcess(o.command)
		tag = ownerTag{byCommand, f.fd, fallback.Owner{}}
	}
	if keeper := supervisorOf(o); keeper != 0 && o.cooldown > 0 {
		// Between the end of the command and the setting of its cooldown,
		// which its supervisor does, nobody else may get in.
		tag.keeper, _ = fallback.Process(keeper)
	}
	owner, err := fallback.Process(pid)
	owner.Tag = tag.String()
	return owner, err
}

// forCommand reports whether the lock is there for the command, or for flock
// itself with --close, rather than for the caller's open descriptor.
func forCommand(f *lockFile, o *options) bool {
	return f.named || len(o.command) > 0 && !sameDescriptor(syscall.Getppid(), f.fd, f.fd)
}

// ownerTag is what the owner of a directory lock says besides its process:
// "fd9", "cmd3", or "cmd3+PID+START" with a supervisor that keeps the lock.
type ownerTag struct {
	kind   string
	number int
	keeper fallback.Owner
}

const (
	byNumber  = "fd"  // it locked this descriptor, and may close it
	byCommand = "cmd" // it is a command that has this descriptor
)

func (t ownerTag) String() string {
	if t.kind == "" {
		return ""
	}
	s := t.kind + strconv.Itoa(t.number)
	if t.keeper.PID != 0 {
		s += "+" + strconv.Itoa(t.keeper.PID) + "+" + t.keeper.Start
	}
	return s
}

func tagOf(o fallback.Owner) (t ownerTag) {
	name, keeper, _ := strings.Cut(o.Tag, "+")
	pid, start, _ := strings.Cut(keeper, "+")
	t.keeper.PID, _ = strconv.Atoi(pid)
	t.keeper.Start = start
	for _, kind := range []string{byNumber, byCommand} {
		if digits, ok := strings.CutPrefix(name, kind); ok {
			if n, err := strconv.Atoi(digits); err == nil {
				t.kind, t.number = kind, n
			}
		}
	}
	return t
}

// sharesDescriptor reports whether the owner, process pid, has the lock by the
// open file that is our descriptor fd.
func (t ownerTag) sharesDescriptor(pid, fd int) bool {
	return t.kind != "" && sameDescriptor(pid, t.number, fd)
}

// hasClosed reports whether the owner, process pid, has closed the descriptor
// that it locked, of the same file as our fd.
func (t ownerTag) hasClosed(pid, fd int) bool {
	return t.kind == byNumber && hasClosed(pid, t.number, fd)
}

// supervised reports whether the supervisor that keeps the lock lives.
func (t ownerTag) supervised() bool {
	if t.keeper.PID == 0 {
		return false
	}
	keeper, err := fallback.Process(t.keeper.PID)
	return err == nil && keeper.Start == t.keeper.Start
}
