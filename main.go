// Flock takes a lock on a file, a directory or an open descriptor, and runs a command under it. It is a drop-in for the
// flock(1) of util-linux.
//
// Without the two lines below the runtime would hold the files open that give the CPU limit of a container, and the
// lock file would not get the lowest free number.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0
package main

import (
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/command"
	"example.org/flock/internal/cstart"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/guard"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/output"
	"example.org/flock/internal/termination"
)

// version is set by the Makefile.
var version string

func init() {
	// The first thread must start the command: some of what the command inherits belongs to a thread, such as the signal
	// that it gets when its parent dies.
	if cstart.IsLibrary {
		main() // which the runtime does not call; it does not return. All init functions run in the first thread.
	} else {
		runtime.LockOSThread() // has the runtime call main in the thread of this function
	}
}

func main() {
	putOffCollector()
	guard.Begin()
	args := cli.Args()
	p := output.New(command.BaseName(args[0]))
	code := p.Status(run(p, args))
	termination.Finish()
	os.Exit(code)
}

// putOffCollector keeps the garbage collector from running before the process has 32 MB, which takes a wait of hours.
// By default it runs at four megabytes, and every two minutes. It starts threads for its work; where the user can have
// no more of them (ulimit -u), the runtime ends the process with a dump of its stacks.
func putOffCollector() {
	debug.SetGCPercent(-1)                      // from here on it runs at the memory limit only
	const limit, ofRuntime = 32 << 20, 64 << 10 // the runtime takes that for each processor
	debug.SetMemoryLimit(limit + ofRuntime*int64(runtime.GOMAXPROCS(0)))
}

// run is the whole program, unless package early has done all of it. It returns the exit status, or does not return:
// another program may replace this process.
func run(p *output.Printer, args []string) int {
	started := time.Now()
	if err := cstart.OpenStandardFiles(); err != nil {
		return p.Fail(err)
	}
	if err := refuseVariables(); err != nil {
		return p.Fail(err)
	}
	o, err := cli.Parse(args, cstart.Getenv, command.Shell)
	if err != nil {
		return p.Fail(err)
	}
	if o.Backend == cli.Other {
		return p.Fail(execBackend(o, args))
	}
	p.Verbose = o.Verbose
	switch o.Action {
	case cli.Help:
		p.Print(cli.HelpText(p.Name))
		return 0
	case cli.Version:
		p.Print(cli.VersionText(p.Name, version))
		if o.Verbose {
			p.Print(cli.BuildText() + "\n")
		}
		return 0
	case cli.Holders:
		return showHolders(p, o)
	}
	if err := earlyFailure(o); err != nil {
		return failCommand(p, o, err) // the lock is taken, and the command was started or could not be
	}
	return lockAndExecute(p, o, started)
}

// refuseVariables refuses the variables that choose a lock where the caller has fewer rights than this process: as a
// user of a set-user-id program that runs flock, the caller could get in beside the lock of others. To ignore them
// would make such a program use a different lock from everyone else at a site that sets them.
func refuseVariables() error {
	if !cstart.IsSetUserID() {
		return nil
	}
	for _, name := range []string{"FLOCK_BACKEND", "FLOCK_DIR"} {
		if value, _ := cstart.Getenv(name); value != "" {
			return failure.Usage(name +
				" cannot be set for a set-user-id or set-group-id program: its user could get past the lock")
		}
	}
	return nil
}

// lockAndExecute takes the lock, or releases it, and executes the command if there is one. It returns the exit status,
// or does not return: with --no-fork the command replaces this process.
func lockAndExecute(p *output.Printer, o *cli.Options, started time.Time) int {
	if err := checkGuard(o); err != nil {
		return p.Fail(err)
	}
	misplaced := misplacedOption(o)
	if misplaced != nil && o.Remove { // a file that was opened now would stay
		return failCommand(p, o, misplaced)
	}
	f, err := openLockFile(o)
	if err != nil {
		return p.Fail(err)
	}
	warnOfSurprises(p, o, f)
	if misplaced != nil {
		return failCommand(p, o, misplaced)
	}
	if o.HasTimeout {
		cstart.CatchAlarm() // with -n, too: that is what the command sees
	}
	asked := time.Now()
	a, err := newAttempt(o, p, f)
	if err != nil {
		return p.Fail(err)
	}
	err = a.acquire(timeoutOf(o, started))
	switch {
	case locks.IsRefusal(err):
		a.reportRefusal(err)
		return o.ConflictExit
	case err == nil && termination.IsDue():
		a.undo()
		return 1 // main then dies by the signal
	case errors.Is(err, locks.ErrInterrupted):
		return 1
	case err != nil:
		return p.Fail(err)
	}
	p.PrintVerbose("getting lock took " + output.FormatSeconds(time.Since(asked)) + " seconds")
	if len(o.Command) == 0 {
		return 0
	}
	return a.execute()
}

// checkGuard says why there can be no guard here, if the options need one.
func checkGuard(o *cli.Options) error {
	if !o.HasGuard() {
		return nil
	}
	if err := guard.Check(); err != nil {
		return failure.New(failure.ExOSErr, "cannot terminate a command and its descendants here", err)
	}
	return nil
}

// warnOfSurprises says what will not be as the user may expect.
func warnOfSurprises(p *output.Printer, o *cli.Options, f *lockfile.File) {
	if p.Verbose && o.Backend != cli.Directory && f.Uncertain() != "" {
		p.WarnVerbose("the lock file is on " + f.Uncertain() + ", whose locks may be local to this machine")
	}
	if o.Cooldown > 0 && o.FD >= 0 && f.IsOverwritten() { // emptying a file sets its modification time
		p.Note("'" + f.Name + ">FILE' ends the cooldown: open it as " + f.Name + ">>FILE")
	}
	if o.Reports && o.Close && len(o.Command) == 0 {
		p.Note("-o does not close a descriptor of the caller")
		p.Note("start what must not keep the lock with " + f.Name + ">&-")
	}
}

// timeoutOf returns how long to wait for the lock; -w counts from the start.
func timeoutOf(o *cli.Options, started time.Time) locks.Timeout {
	switch {
	case o.Nonblock:
		return locks.Try
	case o.HasTimeout:
		return locks.Until(started.Add(o.Timeout))
	}
	return locks.Forever
}

// acquire takes the lock, or releases it, as the user asked for.
func (a *attempt) acquire(timeout locks.Timeout) error {
	switch {
	case a.Op == locks.Unlock:
		return a.unlock()
	case a.Replace:
		return a.acquireAsNewest(timeout)
	}
	return a.acquireInTurn(timeout)
}
