package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/flock/fallback"
	"example.org/flock/internal/cli"
	"example.org/flock/internal/command"
	"example.org/flock/internal/early"
	"example.org/flock/internal/kernlock"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/output"
	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

// execute runs the command while the lock is held, and returns the exit status. It does not return if this process becomes
// the command.
func execute(p *output.Printer, f *lockfile.File, o *cli.Options, s supervisor, release func()) int {
	p.PrintVerbose("executing " + o.Command[0])
	if o.Close {
		f.CloseOnExec()
	}
	if becomesCommand(o, s) {
		if unwritten := p.Flush(); unwritten == nil || !s.exists() {
			return failInChild(p, command.Become(o.Command))
		} // else nobody would be left to report the write error
	}
	code, err := command.Run(o.Command)
	if err != nil {
		if _, ok := err.(*command.StartError); ok && o.Close && f.FD == 2 {
			code = exitStatus(err) // in the reference the child reports it, which has closed its standard error
		} else {
			code = failInChild(&output.Printer{Name: p.Name}, err)
		}
	}
	if o.Remove {
		release()
		removeLockFile(p, f, o.Backend, o.Command)
	}
	if err == nil && o.Cooldown > 0 {
		if err := startCooldown(f, o.Cooldown); err != nil {
			fail(p, err) // the cooldown that began with the command goes on
		}
	}
	return code
}

// becomeBackend replaces this process by the program of a backend that flock does not know, with the same words. It returns
// only an error.
func becomeBackend(o *cli.Options, args []string) error {
	program := "flock-" + o.BackendName
	if proc.IsSetUserID() {
		return o.InvalidBackend("; a set-user-id or set-group-id flock runs no " + program)
	}
	dir, places := "", "PATH"
	if self, err := os.Executable(); err == nil {
		dir = filepath.Dir(self)
		places = sys.Printable(dir) + " or in PATH"
	}
	path := command.Find(program, dir)
	switch path {
	case "":
		return o.InvalidBackend("; there is no " + program + " in " + places)
	case args[0]: // flock has become it already, and would do so for ever
		return o.InvalidBackend("; " + program + " is flock itself")
	}
	return command.Become(append([]string{path}, args[1:]...))
}

// earlyFailure returns why the run without the Go runtime could not execute the command, or not wait for it. Where the
// command could not be executed, this process is the child.
func earlyFailure(o *cli.Options) error {
	switch r := early.Result(); r.Failed {
	case early.Forking:
		return &command.ForkError{Err: r.Errno}
	case early.Executing:
		return &command.StartError{Name: o.Command[0], Err: r.Errno}
	case early.Waiting:
		return &command.WaitError{Err: r.Errno}
	}
	return nil
}

// becomesCommand reports whether this process becomes the command rather than its parent.
func becomesCommand(o *cli.Options, s supervisor) bool {
	if o.NoFork || s.exists() {
		return true
	}
	// Such a lock does not pass to a child, but stays across exec.
	return kernlock.OwnedByProcess && o.Backend == cli.ByFcntl && !o.Close
}

// failInChild reports that the command cannot be executed. In the reference the child reports it, and whether its output
// can be written has no effect on the exit status.
func failInChild(p *output.Printer, err error) int {
	code := fail(p, err)
	p.ForgetFailures()
	return code
}

// removeLockFile removes the lock file when the command has ended, unless somebody has the lock, such as a child of the
// command: then it is for the last one to remove the file.
func removeLockFile(p *output.Printer, f *lockfile.File, backend cli.Backend, command []string) {
	f.Close()
	directory, err := true, error(nil)
	for directory && err == nil {
		// Under the directory lock once more: a contender that makes the file again, and gives up because of the lock that
		// the first removal takes, leaves it there.
		directory, err = tryRemove(p.Name, f.Name, backend, command)
	}
	_, kept := err.(lockfile.Kept)
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
	case kept, err == kernlock.ErrConflict:
		p.WarnVerbose("lock file " + f.Name + " is not removed: " + err.Error())
	default:
		p.Warn((&fileError{removing, f.Name, err}).Error())
	}
}

// tryRemove removes the file called name while it holds the exclusive lock, for which it does not wait. It reports whether
// that is the directory lock.
func tryRemove(self, name string, backend cli.Backend, command []string) (directory bool, err error) {
	p, c := &output.Printer{Name: self}, contender{command: command, close: true} // the lock is this process's
	r := request{op: kernlock.Exclusive, backend: backend, limit: kernlock.Limit{Nonblock: true}}
	f, err := lockfile.OpenToRemove(name, neededAccess(r.op, backend, 0))
	if err != nil {
		return false, err
	}
	defer f.Close()
	release, err := func() {}, error(errNoLocks)
	if backend != cli.Directory {
		release, err = lockNative(p, f, r, c)
	}
	if directory = err == errNoLocks; directory {
		release, err = lockDirectory(p, f, r, c)
	}
	if err != nil {
		return directory, err
	}
	defer release()
	return directory, f.Remove()
}

// A supervisor is the flock that started this one to take the directory lock and become the command. The zero supervisor is
// none.
type supervisor struct {
	pid    int
	caller int           // the process that called it
	left   time.Duration // of --timeout, when it started this one
}

// supervisorOption stands first in the words with which flock starts itself. Its value is PID+CALLER+NANOSECONDS.
const supervisorOption = "--supervisor="

// readSupervisor takes the supervisor's word out of args.
func readSupervisor(args []string) (s supervisor, rest []string, err error) {
	if len(args) < 2 || !strings.HasPrefix(args[1], supervisorOption) {
		return s, args, nil
	}
	value := strings.TrimPrefix(args[1], supervisorOption)
	var numbers [3]int64
	words := strings.Split(value, "+")
	ok := len(words) == len(numbers)
	for i := 0; ok && i < len(numbers); i++ {
		numbers[i], err = strconv.ParseInt(words[i], 10, 64)
		ok = err == nil
	}
	if !ok || numbers[0] <= 0 {
		return s, nil, &cli.UsageError{Text: "invalid supervisor: '" + value + "'"}
	}
	s = supervisor{int(numbers[0]), int(numbers[1]), time.Duration(numbers[2])}
	return s, append([]string{args[0]}, args[2:]...), nil
}

func (s supervisor) exists() bool { return s.pid != 0 }

// isGone reports whether the supervisor has ended, and nobody waits for the command any more.
func (s supervisor) isGone() bool { return s.exists() && os.Getppid() != s.pid }

// deadline returns when the wait for the lock ends, zero if it has no limit. The supervisor has used up some of the time.
func (s supervisor) deadline(o *cli.Options, began time.Time) time.Time {
	switch {
	case !o.Limited:
		return time.Time{}
	case s.exists():
		return began.Add(s.left)
	}
	return began.Add(o.Timeout)
}

// supervise starts flock once more, to take the lock and become the command, waits for it, and frees the lock. It returns
// the exit status.
func supervise(p *output.Printer, f *lockfile.File, r request, c contender, args []string) int {
	if f.ByName {
		// This process may own a lock from before, as a shell that became flock does, and have closed that descriptor: what
		// it has open of the file would look like that descriptor.
		if r.cooldown == 0 {
			f.Close()
		} else {
			f.Move()
		}
	}
	var left time.Duration
	if !r.limit.Deadline.IsZero() {
		left = time.Until(r.limit.Deadline)
	}
	self := supervisorOption + strconv.Itoa(os.Getpid()) + "+" + strconv.Itoa(os.Getppid()) + "+" +
		strconv.FormatInt(left.Nanoseconds(), 10)
	pid, err := command.StartSelf(append([]string{args[0], self}, args[1:]...))
	if err != nil {
		return fail(p, err)
	}
	child, ended := fallback.Process(pid)
	l, failed := openDirectoryLock(f, r.op, c) // while the other one starts
	code, err := command.Wait(pid)
	if err != nil {
		return fail(p, err)
	}
	if failed != nil {
		return code // the other one has reported it
	}
	if r.cooldown > 0 && ended == nil && hadLock(l, child) {
		if err := startCooldown(f, r.cooldown); err != nil {
			fail(p, err) // the cooldown that began with the command goes on
		}
	}
	gone := l.Gone
	l.Gone = func(p fallback.Owner) bool { // this process keeps it no longer
		return p.PID == os.Getpid() || gone(p)
	}
	l.Sweep(pid) // if that fails, the next contender does it
	if r.remove {
		removeLockFile(p, f, r.backend, c.command)
	}
	return code
}

// hadLock reports whether process p, which is dead, died with the lock.
func hadLock(l *fallback.Lock, p fallback.Owner) bool {
	holders, _ := l.Holders()
	return slices.ContainsFunc(holders, func(h fallback.Holder) bool { return h.SameProcess(p) && !h.Waiting })
}
