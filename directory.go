//go:build unix

package main

import (
	"errors"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.org/flock/fallback"
)

// The directory lock, for where the kernel has none: package fallback keeps
// it, this file says for whom.
//
// A lock around a command belongs to the command, whose process flock must
// therefore be when it takes the lock; then it becomes the command. So flock
// starts itself once more (supervise), and that one works as with --no-fork.
// A lock by descriptor number belongs to the caller.

// lockDirectory does what o says to the directory lock of f.
func lockDirectory(p *printer, f *lockFile, o *options) error {
	if o.op == unlock && f.named {
		return nil // just opened, it holds no lock
	}
	l, err := newDirectoryLock(f, o)
	if err == nil {
		if o.verbose {
			p.warn("using the directory lock " + l.Dir())
		}
		err = useDirectoryLock(l, o)
	}
	if o.supervisor != 0 && (errors.Is(err, fallback.ErrQuit) || err == nil && l.Quit()) {
		l.Unlock() // whoever wanted the command is gone
		return errConflict
	}
	switch held := err.(type) {
	case nil:
		return nil
	case *fallback.ConflictError:
		if o.verbose {
			p.warn(held.Error())
		}
		if o.nonblock {
			return errConflict
		}
		return errTimeout
	}
	return &stepError{keeping, f.name, err}
}

func newDirectoryLock(f *lockFile, o *options) (*fallback.Lock, error) {
	path := f.name
	if !f.named {
		var err error
		if path, err = descriptorPath(f.fd); err != nil {
			return nil, err
		}
	}
	base, _ := getenv("FLOCK_DIR")
	dir, err := fallback.StateDir(path, base)
	if err != nil {
		return nil, err
	}
	pid, tag := syscall.Getpid(), ""
	switch number := strconv.Itoa(f.fd); {
	case !forCommand(f, o):
		pid, tag = descriptorOwner(f.fd), "fd"+number
	case !o.closeFd:
		tag = "cmd" + number
	}
	owner, err := fallback.Process(pid)
	if err != nil {
		return nil, err
	}
	owner.Tag = tag
	l := fallback.New(dir, owner)
	l.Mine = func(o fallback.Owner) bool {
		number, ok := taggedDescriptor(o, "fd", "cmd")
		return ok && !f.named && sameDescriptor(o.PID, number, f.fd)
	}
	l.Gone = func(o fallback.Owner) bool {
		number, ok := taggedDescriptor(o, "fd")
		return ok && hasClosed(o.PID, number, f.fd)
	}
	if o.supervisor != 0 {
		l.Quit = func() bool { return syscall.Getppid() != o.supervisor }
	}
	return l, nil
}

func useDirectoryLock(l *fallback.Lock, o *options) error {
	request := fallback.Request{Mode: fallback.Exclusive}
	if o.op == shared {
		request.Mode = fallback.Shared
	}
	switch {
	case o.op == unlock:
		return l.Unlock()
	case o.nonblock:
		return l.TryLock(request)
	case o.limited:
		return l.Lock(request, time.Now().Add(o.timeout))
	}
	return l.Lock(request, time.Time{})
}

// forCommand reports whether the lock is there for the command, or flock
// itself with --close, rather than for the caller's open descriptor.
func forCommand(f *lockFile, o *options) bool {
	return f.named || len(o.command) > 0 && !sameDescriptor(syscall.Getppid(), f.fd, f.fd)
}

// taggedDescriptor returns the descriptor number from an owner's tag.
func taggedDescriptor(o fallback.Owner, prefixes ...string) (number int, ok bool) {
	for _, prefix := range prefixes {
		if digits, found := strings.CutPrefix(o.Tag, prefix); found {
			number, err := strconv.Atoi(digits)
			return number, err == nil
		}
	}
	return 0, false
}

// needsSupervisor reports whether the lock is to be taken by a second flock,
// which becomes the command.
func needsSupervisor(f *lockFile, o *options) bool {
	return len(o.command) > 0 && !o.closeFd && !o.noFork && o.op != unlock && forCommand(f, o)
}

// supervise starts flock once more, to take the lock and become the command,
// waits for it, and frees the lock. It returns the exit status.
func supervise(f *lockFile, o *options, args []string) (int, error) {
	l, err := newDirectoryLock(f, o)
	if err != nil {
		return 0, &stepError{keeping, f.name, err}
	}
	if f.named {
		syscall.Close(f.fd) // the second flock opens it again, under the same number
	}
	supervisor := "--supervisor=" + strconv.Itoa(syscall.Getpid())
	code, err := runSelf(append([]string{args[0], supervisor}, args[1:]...))
	l.Sweep() // if that fails, the next contender does it
	return code, err
}
