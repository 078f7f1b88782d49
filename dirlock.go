package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/flock/fallback"
	"example.org/flock/internal/cli"
	"example.org/flock/internal/command"
	"example.org/flock/internal/cstart"
	"example.org/flock/internal/kernlock"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/output"
	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

// Package fallback has the directory lock. This file says for whom it is.
//
// A lock around a command belongs to the command. Only the process that becomes the command can take it, so flock starts
// itself once more: the second flock takes the lock and becomes the command, the first one is its supervisor. A lock by
// descriptor number belongs to the processes that have the open file.

// A contender is whoever asks for a lock.
type contender struct {
	command    []string // nil: the caller's open descriptor is locked
	close      bool     // --close
	noFork     bool     // --no-fork
	cooldown   bool
	listing    bool // --holders: nothing is locked
	supervisor supervisor
}

func newContender(o *cli.Options, s supervisor) contender {
	return contender{o.Command, o.Close, o.NoFork, o.Cooldown > 0, o.Action == cli.Holders, s}
}

// needsSupervisor reports whether a second flock must take the directory lock.
func (c contender) needsSupervisor() bool {
	return command.CanBecome && len(c.command) > 0 && !c.close && !c.noFork && !c.supervisor.exists()
}

// caller returns the process that called flock. It is 0 if that is outside of our pid namespace.
func (c contender) caller() int {
	if c.supervisor.exists() {
		return c.supervisor.caller
	}
	return os.Getppid()
}

// lockDirectory carries out the request with the directory lock.
func lockDirectory(p *output.Printer, f *lockfile.File, r request, c contender) (release func(), err error) {
	if r.op == kernlock.Unlock && f.ByName {
		return nil, nil // just opened, it has no lock
	}
	l, err := openDirectoryLock(f, r.op, c)
	if err != nil {
		return nil, directoryError(f, err)
	}
	p.WarnVerbose("using the directory lock " + sys.Printable(l.Dir()))
	err = useDirectoryLock(p, l, r, c.supervisor)
	if err == context.Canceled || err == nil && c.supervisor.isGone() {
		l.Unlock() // nobody waits for the command any more
		return nil, kernlock.ErrConflict
	}
	if held, ok := err.(*fallback.ConflictError); ok {
		p.WarnVerbose(held.Error())
		if r.limit.Nonblock {
			return nil, kernlock.ErrConflict
		}
		return nil, kernlock.ErrTimeout
	}
	if err == nil && r.remove && r.permits == 0 && !f.IsNamed() {
		// The lock is that of the name, so that nobody removes the file any more. A permit can have a lock of the kernel on
		// the open file as well.
		if err := f.OpenAgain(); err != nil {
			l.Unlock()
			return nil, &fileError{opening, f.Name, err}
		}
	}
	return func() { l.Unlock() }, directoryError(f, err)
}

func directoryError(f *lockfile.File, err error) error {
	_, usage := err.(*cli.UsageError)
	switch {
	case err == nil, usage:
		return err
	case sys.BadDescriptor(err):
		return &fileError{locking, f.Name, err}
	}
	return &fileError{lockingDirectory, f.Name, err}
}

func useDirectoryLock(p *output.Printer, l *fallback.Lock, r request, s supervisor) error {
	request := fallback.Request{Mode: fallback.Exclusive, Permits: r.permits}
	switch {
	case r.permits > 0:
		request.Mode = fallback.Permit
	case r.op == kernlock.Shared:
		request.Mode = fallback.Shared
	}
	switch {
	case r.op == kernlock.Unlock:
		return l.Unlock()
	case r.limit.Nonblock:
		return l.TryLock(request)
	}
	l.Notice = func(held *fallback.ConflictError) {
		if why, vain := isVain(held); vain {
			p.Warn("waiting: " + held.Error() + why)
		}
	}
	return l.Lock(waitContext{context.Background(), r.limit.Deadline, s}, request)
}

// A waitContext ends a wait at a deadline, or when the supervisor has ended. It needs no timer and no goroutine.
type waitContext struct {
	context.Context
	deadline   time.Time // zero: none
	supervisor supervisor
}

func (c waitContext) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

func (c waitContext) Err() error {
	if c.supervisor.isGone() {
		return context.Canceled
	}
	return nil
}

// isVain reports whether to wait for these holders may be in vain without this machine being able to tell, and why where
// the error does not say it.
func isVain(held *fallback.ConflictError) (why string, vain bool) {
	vain = held.Unreachable()
	for _, h := range held.Holders {
		vain = vain || h.Mode == fallback.Busy
		if h.Unreachable || parseTag(h.Tag).kind != byNumber {
			continue
		}
		for _, pid := range []int{h.PID, h.Keeper.PID} {
			if pid != 0 && proc.ConcealsDescriptors(pid) {
				return "; whether process " + strconv.Itoa(pid) + " still has the file open, this user may not see", true
			}
		}
	}
	return "", vain
}

// openDirectoryLock returns the directory lock of f, on which c will carry out op.
func openDirectoryLock(f *lockfile.File, op kernlock.Op, c contender) (*fallback.Lock, error) {
	base, _ := cstart.Getenv("FLOCK_DIR")
	if base != "" && !filepath.IsAbs(base) {
		return nil, &cli.UsageError{Text: "FLOCK_DIR must be an absolute path, else it is another place in each directory: '" + base + "'"}
	}
	path, err := f.Name, error(nil)
	if !f.ByName {
		path, err = proc.Path(f.FD)
	}
	if err != nil {
		return nil, err
	}
	dir, err := fallback.StateDir(path, base)
	if err != nil && f.ByName && f.FD >= 0 { // the working directory may have been removed
		if path, err = proc.Path(f.FD); err == nil {
			dir, err = fallback.StateDir(path, base)
		}
	}
	if err != nil {
		return nil, err
	}
	owner, err := ownerFor(f, c)
	if err != nil {
		return nil, err
	}
	l := fallback.New(dir, owner)
	file := proc.OpenedFile{Path: path, FD: -1, Waiters: func() []int { return waitersFor(dir) }}
	if !c.listing && !c.needsSupervisor() {
		file.FD = f.FD
	}
	l.Mine = func(p fallback.Owner) bool { return isOurs(p, owner, f, file, op) }
	l.Gone = func(p fallback.Owner) bool { return hasClosed(p, file) }
	l.Parent = c.supervisor.pid
	l.Sign = signOf
	return l, nil
}

// waitersFor returns the processes that wait for the lock in dir.
func waitersFor(dir string) (pids []int) {
	l := fallback.New(dir, fallback.Owner{})
	defer l.Close()
	waiters, _ := l.Waiters()
	for _, w := range waiters {
		if !w.Unreachable {
			pids = append(pids, w.PID)
		}
	}
	return pids
}

// ownerFor returns the process for which the directory lock of f is, and its keeper if the lock is for two.
func ownerFor(f *lockfile.File, c contender) (fallback.Owner, error) {
	pid, keeper := os.Getpid(), 0
	tag := ownerTag{number: f.FD, file: proc.FileID(f.FD)}
	eldest, caller, number := 0, 0, 0
	if !f.ByName {
		if c.caller() == 0 && !c.listing {
			return fallback.Owner{}, errors.New("cannot lock for a caller outside of this pid namespace")
		}
		eldest, caller, number = findOwners(c.caller(), f.FD)
	}
	switch {
	case eldest != 0 && len(c.command) > 0 && !c.close:
		tag.kind = byNumber
		pid, keeper = command.Prepare(c.command), eldest
	case eldest != 0:
		tag.kind, tag.number = byNumber, number
		pid, keeper = eldest, caller
	case len(c.command) == 0:
		tag.kind = byNumber // nobody has the descriptor when we end
	case !c.close:
		tag.kind = byCommand
		pid = command.Prepare(c.command)
		if c.cooldown {
			// The parent of the command sets the cooldown when the command has ended. Nobody may get in before that.
			keeper = c.commandParent()
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

// commandParent returns the process that waits for the command, 0 if none does.
func (c contender) commandParent() int {
	if command.CanBecome {
		return c.supervisor.pid
	}
	return os.Getpid()
}

// findOwners returns the processes for which a lock on our descriptor fd is: the caller, and the eldest of its ancestors
// that has the same open file, under whatever number; number is that of the eldest. A kernel lock would last for both: the
// caller may be a subshell that ends soon, the ancestor a script that ends before it. All are 0 if the caller does not have
// the open file.
func findOwners(caller, fd int) (eldest, keeper, number int) {
	number, has := findCallerNumber(caller, fd)
	if !has {
		return 0, 0, 0
	}
	eldest = caller
	for pid := proc.Parent(caller); pid > 0; pid = proc.Parent(pid) {
		n, found, _ := proc.FindDescriptor(pid, fd)
		if !found {
			break
		}
		eldest, number = pid, n
	}
	return eldest, caller, number
}

// findCallerNumber returns the number under which the caller has the open file that is our descriptor fd, and whether it
// has it. Where that is unknown, it has it if it has the file open at all.
func findCallerNumber(caller, fd int) (number int, has bool) {
	number, found, known := proc.FindDescriptor(caller, fd)
	if known {
		return number, found
	}
	if _, err := fallback.Process(caller); err != nil {
		return 0, false // it has ended
	}
	file, id := proc.OpenedFile{FD: -1}, proc.FileID(fd)
	if file.ClosedBy(caller, fd, id) {
		return 0, false
	}
	numbers := file.Descriptors(caller, id)
	if len(numbers) == 0 || slices.Contains(numbers, fd) {
		return fd, true
	}
	return numbers[0], true
}

// An ownerTag is what the owner of a directory lock says besides its processes: "fd9_FILE" or "cmd3_FILE".
type ownerTag struct {
	kind   string
	number int
	file   string // identity of the locked file
}

const (
	byNumber  = "fd"  // the owner locked this descriptor, and may close it
	byCommand = "cmd" // the owner is a command that has this descriptor
)

func (t ownerTag) String() string {
	if t.kind == "" {
		return ""
	}
	return t.kind + strconv.Itoa(t.number) + "_" + t.file
}

func parseTag(tag string) (t ownerTag) {
	name, file, _ := strings.Cut(tag, "_")
	for _, kind := range []string{byNumber, byCommand} {
		if digits, ok := strings.CutPrefix(name, kind); ok {
			if n, err := strconv.Atoi(digits); err == nil {
				t = ownerTag{kind, n, file}
			}
		}
	}
	return t
}

// isOurs reports whether process p of a lock has it by the open file that is our descriptor, or is the process for which we
// would lock, by the same number.
//
// The number is that of the locked open file; p may have others of the file. To release a lock it is enough that p has ours
// and no other one.
func isOurs(p, owner fallback.Owner, f *lockfile.File, file proc.OpenedFile, op kernlock.Op) bool {
	t := parseTag(p.Tag)
	if f.ByName || t.kind == "" || t.kind == byCommand && isKeeper(p) {
		return false
	}
	if same, _ := proc.SameOpenFile(p.PID, t.number, f.FD); same {
		return true
	}
	switch {
	case t.kind != byNumber:
		return false
	case owner.PID == p.PID && owner.Start == p.Start && parseTag(owner.Tag).number == t.number:
		return true
	case op != kernlock.Unlock:
		return false
	}
	file.FD = f.FD
	_, has, _ := proc.FindDescriptor(p.PID, f.FD)
	return has && file.ClosedBy(p.PID, t.number, t.file)
}

// hasClosed reports whether process p of a lock, which lives, has closed the descriptor that it locked, for certain.
func hasClosed(p fallback.Owner, file proc.OpenedFile) bool {
	t := parseTag(p.Tag)
	return t.kind == byNumber && file.ClosedBy(p.PID, t.number, t.file)
}

// signOf says how to notice that process p of a lock has closed the descriptor that it locked.
func signOf(p fallback.Owner) fallback.Sign {
	t := parseTag(p.Tag)
	if t.kind != byNumber {
		return fallback.Sign{}
	}
	name, visible := proc.DescriptorName(p.PID, t.number, t.file)
	return fallback.Sign{File: name, Ask: visible && name == ""}
}

// isKeeper reports whether p, a process of a lock, is its keeper.
func isKeeper(p fallback.Owner) bool { return p.Keeper == fallback.Keeper{PID: p.PID, Start: p.Start} }
