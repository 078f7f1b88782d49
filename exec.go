package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/command"
	"example.org/flock/internal/cstart"
	"example.org/flock/internal/early"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/kernlock"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/output"
	"example.org/flock/internal/sys"
)

// execute runs the command while the lock is held, and returns the exit status. It does not return if this process becomes
// the command.
func (a *attempt) execute(l heldLock) int {
	a.out.PrintVerbose("executing " + a.Command[0])
	if a.Close {
		a.file.CloseOnExec()
	} else if err := l.Inherit(); err != nil {
		return failure.Report(a.out, err)
	}
	if a.NoFork {
		a.out.Flush()
		return failCommand(a.out, a.File, command.Exec(a.Command))
	}
	code, err := command.Run(a.Command)
	if err != nil {
		code = failCommand(a.out, a.File, err)
	}
	if err == nil && a.Cooldown > 0 {
		if err := a.startCooldown(); err != nil {
			failure.Report(a.out, err) // the cooldown that began with the command goes on
		}
	}
	if a.Reports {
		a.reportKeepers()
	}
	l.Leave()
	if a.Remove {
		a.removeLockFile()
	}
	return code
}

// execBackend replaces this process by the program of a backend that flock does not know, with the same words. It returns
// only an error.
func execBackend(o *cli.Options, args []string) error {
	program := "flock-" + o.BackendName
	if cstart.IsSetUserID() {
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
	return command.Exec(append([]string{path}, args[1:]...))
}

// earlyFailure returns what the run without the Go runtime could not do after it had locked. If it could not execute the
// command, this process is the child.
func earlyFailure(o *cli.Options) error {
	failed := early.Failed()
	switch {
	case failed.Execute != 0:
		return command.NotExecuted(o.Command[0], failed.Execute)
	case failed.Wait != 0:
		return command.NotWaitedFor(failed.Wait)
	}
	return nil
}

// failCommand reports why the command cannot be started or waited for. If it cannot be executed, the child reports it in
// util-linux, and whether that can be written has no effect on the exit status. lockFile may be empty.
func failCommand(p *output.Printer, lockFile string, err error) int {
	var start *command.StartError
	if !errors.As(err, &start) {
		return failure.Report(p, err)
	}
	known := err.(*failure.Error)
	switch {
	case cli.IsMisplaced(start.Name):
		known.Hint = "options go before the file: flock [options] <file> <command>"
	case lockfile.KeepsFromRunning(lockFile, start.Name, start.Err):
		known.Hint = "it is the lock file, which cannot be executed on this filesystem while it is locked: use a separate lock file"
	}
	status := failure.Report(p, known)
	p.ForgetFailures()
	return status
}

// removeLockFile removes the lock file when the command has ended, unless somebody has the lock, such as a child of the
// command: then it is for the last one to remove the file.
func (a *attempt) removeLockFile() {
	a.file.Close()
	directory, err := true, error(nil)
	for directory && err == nil {
		// With the directory lock, try once more: a contender may make the file again, find the lock of this removal, and
		// give up. Its file would stay.
		directory, err = a.tryRemove()
	}
	_, kept := err.(lockfile.KeepReason)
	name := a.file.Name
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
	case kept, kernlock.IsRefusal(err):
		a.out.WarnVerbose("lock file " + name + " is not removed: " + err.Error())
	default:
		failure.Report(a.out, failure.New(output.ExOSErr, "cannot remove lock file "+name, err))
	}
}

// tryRemove removes the lock file while it holds the exclusive lock, for which it does not wait. It reports whether that is
// the directory lock.
func (a *attempt) tryRemove() (directory bool, err error) {
	o := &cli.Options{Op: kernlock.Exclusive, Backend: a.Backend, FD: -1}
	f, err := lockfile.OpenToRemove(a.file.Name, neededAccess(o))
	if err != nil {
		return false, err
	}
	defer f.Close()
	l, err := newAttempt(o, &output.Printer{Name: a.out.Name}, f).lock(kernlock.Try)
	if err != nil {
		return false, err
	}
	err = f.Remove()
	lock, directory := l.(directoryLock)
	if directory && err == nil {
		return true, lock.Discard()
	}
	l.Unlock()
	return directory, err
}
