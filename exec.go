package main

import (
	"errors"
	"strconv"
	"strings"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/command"
	"example.org/flock/internal/cstart"
	"example.org/flock/internal/early"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/guard"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/output"
	"example.org/flock/internal/termination"
)

// execute runs the command while the lock is held, and returns the exit status. It does not return if this process
// becomes the command.
func (a *attempt) execute() int {
	a.out.PrintVerbose("executing " + a.Command[0])
	code, err := a.runCommand()

	// 1. The cooldown counts from now. That is set before the next holder can look at it.
	cooldownErr := a.endCooldown(code, err)

	// 2. The lock is given up, as far as that is possible while the lock file is open: that shows whether somebody
	// whom the command has left behind keeps it.
	keepers := ""
	if a.reportsKeepers() {
		keepers = a.keepersLine(a.lock.LetGo())
	}

	// 3. The lock is given up.
	a.leave()

	// 4. The lines come last: somebody may not read them, and then this process waits.
	switch {
	case errors.Is(err, locks.ErrReplaced):
		code = a.reportReplaced()
	case err != nil:
		code = failCommand(a.out, a.Options, err)
	}
	a.reportIfFailed(cooldownErr)
	if keepers != "" {
		a.out.Note(keepers)
	}
	return code
}

// leave gives up the lock when the command has ended, unless it is the caller's. What the command has left behind may
// keep it. From then on a signal ends this process at once.
func (a *attempt) leave() {
	a.lock.Leave()
	if a.file.ByName {
		a.file.Close()
	}
	var removal error
	if a.Remove {
		removal = a.removeLockFile()
	}
	termination.Undefer()
	a.reportIfKept(removal)
}

// runCommand runs the command, with the lock, and returns its exit status. The guard of a command has the lock with
// --close, too, so that it is held until all are gone whom the guard has to end.
func (a *attempt) runCommand() (status int, err error) {
	if a.Close && !a.HasGuard() {
		a.file.CloseOnExec()
	} else if err := a.lock.Inherit(); err != nil {
		return 0, err
	}
	if a.Permits > 0 && a.Op != locks.Unlock { // else that of a lock around this one stays
		cstart.Setenv(locks.PermitVariable, strconv.Itoa(a.lock.PermitNumber()))
	}
	switch {
	case a.NoFork:
		a.out.Flush()
		termination.Undefer()
		termination.Finish() // does not return if a signal has come
		return 0, command.Exec(a.Command)
	case a.HasGuard():
		return a.runGuarded()
	}
	return command.Run(a.Command, a.lock.Started)
}

// runGuarded runs the command by a guard.
func (a *attempt) runGuarded() (status int, err error) {
	guarded := guard.Command{Argv: a.Command,
		Rules: guard.Rules{Limit: a.Limit, Leftovers: a.KillChildren, Ticket: a.ticket},
		Note:  a.out.Note, NotesMore: a.Verbose || a.Reports}
	if a.Close {
		guarded.ForGuard = []int{a.file.FD}
		if lifeline := a.lock.Lifeline(); lifeline >= 0 {
			guarded.ForGuard = append(guarded.ForGuard, lifeline)
		}
	}
	a.out.Beside() // for those lines
	return guarded.Run()
}

// earlyFailure returns what package early could not do after it had locked: execute the command, and then this process
// is the child, or with --no-fork the only one; or wait for the command, which runs.
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

// misplacedOption returns the error of a command that begins with a dash and is not found: it is an option behind the
// file. Whoever gives -n there does not expect to wait for the lock first.
func misplacedOption(o *cli.Options) error {
	waits := !o.Nonblock && o.Op != locks.Unlock
	if !waits || len(o.Command) == 0 || !strings.HasPrefix(o.Command[0], "-") {
		return nil
	}
	return command.Missing(o.Command)
}

// failCommand prints why the command cannot be started or waited for, and returns the exit status. If it cannot be
// executed, the child reports it in util-linux, and whether that can be written has no effect on the exit status.
func failCommand(p *output.Printer, o *cli.Options, err error) int {
	var start *command.StartError
	if !errors.As(err, &start) {
		return p.Fail(err)
	}
	failed := *err.(*failure.Error)
	failed.Hint = commandHint(o, start)
	status := p.Fail(&failed)
	p.ForgetFailures()
	return status
}

// commandHint is the hint for a command that cannot be executed; "" if there is none.
func commandHint(o *cli.Options, start *command.StartError) string {
	if hint := writingHint(o, start.Err); hint != "" && o.FD < 0 && lockfile.IsSame(o.File, start.Name) {
		return hint
	}
	if lockfile.KeepsFromRunning(o.File, start.Name, start.Err) {
		return "it is the lock file, which cannot be executed on this filesystem while it is locked: " +
			"use a separate lock file"
	}
	if hint := o.CommandHint(start.Name, start.Err); hint != "" || o.ByShell {
		return hint
	}
	return command.Hint(start.Name, start.Err)
}
